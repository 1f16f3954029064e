"""Words that say what kind of utterance a text is, in twelve languages.

Each cue is a concept (a promise, a hedge, a deadline), not a type: the weights in `typing_model.json` say how much
it speaks for and against each type. Phrases are separated by commas and matched case-folded as whole words; one word
with a trailing `*` stands for any ending. Phrases in Chinese, Japanese and Korean match anywhere.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

CUES: Final[Mapping[str, str]] = {
    "always": """
        always, every time you, in all cases, each new, immer, stets, grundsätzlich, siempre, toujours, systématiquement,
        sempre, altijd, всегда, 总是, 始终, 一律, 常に, 항상
    """,
    "never": """
        never, do not, don't, must not, may not, avoid, no longer than, under no circumstances, niemals, nie, nicht ohne,
        darf nicht, dürfen nicht, nunca, jamás, no se debe, no debe, jamais, ne pas, il ne faut pas, não deve, nooit,
        никогда, нельзя, не следует, 不要, 不得, 禁止, 请勿, 切勿, 不能, してはならない, してはいけ, ないでください, 禁ずる,
        마세요, 금지, 안 됩니다
    """,
    "must": """
        must, have to, has to, need to, needs to, should, are to be, be sure to, make sure, remember to, ensure,
        require approval, only if, only senior, may only, needs a, need a, mandatory, muss, müssen, soll, sollen, bitte,
        pflicht, zwingend, darf, dürfen, hay que, debe, deben, tiene que, tienen que, es obligatorio, es necesario, por favor,
        il faut, doit, doivent, veuillez, obligatoire, est interdit, deve, devem, é preciso, é necessário, é obrigatório,
        tem que, têm que, bisogna, occorre, devono, moet, moeten, verplicht, должен, должны, необходимо, нужно, обязательно,
        следует, 必须, 务必, 应当, 应该, 需要先, 请先, 必ず, してください, すること, なければならない, 必須, べし, 해야,
        하세요, 반드시
    """,
    "steps": """
        runbook, how to, step 1, step one, in this order, checklist for, procedure, then, afterwards restart, anleitung,
        so geht, schritt 1, danach, anschließend, procedimiento, paso 1, luego, después, procédure, étape 1, puis, ensuite,
        procedimento, passo 1, em seguida, e depois, procedura, poi, daarna, затем, порядок, 步骤, 流程, 然后, 最后启动,
        手順, その後, それから, 절차, 다음에
    """,
    "before": """
        before, prior to, bevor, vor dem, vor der, vor jedem, antes de, avant de, avant d', avant chaque, prima di, voordat,
        перед, прежде чем, 之前, 前必须, する前に, 前に, 하기 전에
    """,
    "if": """
        if, unless, in case, whenever you, when you, falls, wenn, si, en cas de, en caso de, se, caso, als, если, 如果, 若,
        当, 场合, 場合, たら, 하면
    """,
    "when": "when, whenever, as soon as, wenn, sobald, sobald, cuando, quand, lorsque, quando, wanneer, когда, 时, 時, たとき, 때",
    "decided": """
        decided, decide, decision, chose, chosen, choose, selected, picked, opted, agreed to, agreed on, settled on, went with,
        go with, going with, approved, voted, resolved to, concluded that, it was resolved, we are dropping, cancelled the,
        postponed, switched from, ruled out, rejected, final call, from now on, going forward, off the table, entschieden,
        entscheidung, beschlossen, beschluss, abgelehnt, gewählt, festgelegt, genehmigt, einigten uns, decidimos, decidido,
        decidió, decisión, elegimos, eligió, se acordó, acordamos, optamos, aprobó, rechazó, descartamos, hemos elegido,
        avons décidé, a décidé, décidé, décision, choisi, opté, retenu la, retenu le, approuvé, rejeté, adopté, tranché,
        decidiu, decidiu-se, decisão, escolhemos, escolheu, resolvemos, resolveu-se, aprovou, ficou decidido, deciso,
        decisione, scelto, besloten, besluit, gekozen, решили, решение, решено, выбрали, утвердили, 决定, 決定, 选择了, 选用,
        选定, 采用, 敲定, 一致同意, 批准, 否决, 决议, に決めた, に決ま, ことにした, ことにしました, ことになった, 選んだ,
        選択し, 採用, 承認, 見送, 方針, 결정, 선택했, 선택하, 하기로
    """,
    "instead": """
        instead, instead of, rather than, over, in favour of, in favor of, statt, anstatt, anstelle, en lugar de, en vez de,
        plutôt que, au lieu de, em vez de, ao invés de, invece di, piuttosto che, in plaats van, вместо, 代替, 而不是, 而非,
        ではなく, の代わり, 대신
    """,
    "because": """
        because, since, due to, as the, as it, so that, for its, the reason, because of, weil, da, denn, wegen, aufgrund,
        porque, debido a, ya que, por el, por la, parce que, car, en raison de, puisque, devido a, pois, perché, poiché, omdat,
        потому что, из-за, так как, 因为, 由于, 原因是, ため, 理由は, から, 때문에
    """,
    "goal": """
        goal, goals, objective, objectives, target, aim, aims, ambition, mission, north star, purpose, success means, done means,
        strive, working towards, in the long run, ultimately, end goal, vision, ziel, ziele, zweck, langfristig, angestrebt,
        anstreben, vorhaben, objetivo, objetivos, meta, metas, finalidad, aspiramos, propósito, objectif, objectifs, but,
        visons, vise à, ambition, finalité, finalidade, obiettivo, obiettivi, scopo, mirano, doel, doelen, streven, цель, цели,
        задача, стремимся, 目标, 目的, 旨在, 力争, 宗旨, 愿景, 目標, 目指, 狙い, 목표, 목적
    """,
    "want": """
        we want, i want, we aim, hope to, hoping to, we hope, would like to, trying to, we plan to, the plan is to, is to be,
        ideally, wollen, möchten wir, will ich, sollen bis, queremos, quiero, pretendemos, esperamos, buscamos, voulons, je veux,
        souhaitons, espérons, aimerions, quero, desejamos, esperamos, vogliamo, vorremmo, willen, хотим, хочу, планируем,
        надеемся, 我们希望, 我们计划, 我们想, 希望每, 计划今年, 打算, したい, たいと思, を実現, ていきたい, 하고자, 하고 싶
    """,
    "measure": """
        reduce, cut, lower, increase, double, halve, reach, raise, bring, grow, below, under, at least, percent, %, fewer than,
        reduzieren, senken, steigern, verdoppeln, halbieren, erreichen, erhöhen, reducir, aumentar, duplicar, alcanzar, llegar a,
        réduire, augmenter, doubler, atteindre, diminuer, reduzir, diminuir, dobrar, chegar a, dimezzare, ridurre, raddoppiare,
        verlagen, halveren, verdubbelen, сократить, увеличить, удвоить, 降低, 提高, 减少, 增加, 翻一番, 达到, 実現, 倍に, 以下に,
        半分に, 削減, 줄이, 늘리, 높이
    """,
    "horizon": """
        by the end of, by 2*, this year, next year, this quarter, by spring, by summer, by autumn, by winter, by december,
        within a year, by the time, bis ende, dieses jahr, bis 2*, bis sommer, este año, antes de fin, fin de año, este trimestre,
        cette année, d'ici, fin du trimestre, fin de l'année, este ano, até o fim, até o final, fim do ano, quest'anno, entro,
        dit jaar, voor maart, в этом году, к концу, 年底, 今年, 本季度, 年内, 今期, 年末, 今年中, までに, 올해, 까지
    """,
    "promise": """
        promise, promised, promises, commit to, committed to, commits to, pledge, pledged, guarantee, guaranteed, guarantees,
        my word, our word, i owe, we owe, owes, undertakes, count on me, assured, rest assured, volunteered, on the hook, vow,
        has agreed to, have agreed to, agreed to review, agreed to send, taken on, take care of, action item, signed up to,
        verspreche, versprechen, versprochen, zugesagt, zugesichert, sichere zu, verpflichte, verpflichtet, kümmere mich,
        übernimmt, übernehme, garantiert, prometo, prometemos, prometió, prometido, me comprometo, se comprometió, comprometemos,
        me encargo, garantiza, compromiso, je promets, promis, promettons, m'engage, nous engageons, s'est engagé*, s'engage,
        garantit, je me charge, promettent, prometeu, prometi, comprometo-me, comprometeu-se, me comprometo, comprometeu,
        garante, eu cuido, fico de, prometto, promesso, mi impegno, si è impegnat*, beloof, beloofd, toegezegd, обещаю, обещал*,
        обязался, обязуюсь, гарантирую, 承诺, 保证, 答应, 由我负责, 包在我, 約束, お約束, 必ず期日, 保証します, 約定, 약속, 하겠습니다,
        겠습니다
    """,
    "i will": """
        i will, i'll, we will, we'll, i am going to, is going to, he will, she will, they will, will deliver, will send, he'll,
        she'll, they'll, let me send, said she would, said he would, we would, we'd, ich werde, wir werden, ich schicke,
        ich liefere, ich melde, te enviaré, enviaré, enviaremos, voy a, lo haré, je vous enverrai, enverrai, je te, je ferai,
        vou te, vou enviar, vou mandar, enviarei, ti mando, ti mander*, invierò, ik zal, ik stuur, отправлю, пришлю, сделаю,
        我会, 我将, 我来, 给你, 交给, お送りします, いたします, 提出します, 仕上げます, 私が, お渡し, 보내겠, 제출하겠
    """,
    "deadline": """
        by monday, by tuesday, by wednesday, by thursday, by friday, by saturday, by sunday, by tomorrow, on monday, on tuesday,
        on saturday, tomorrow, tonight, this afternoon, this week, next week, next friday, end of the month, by the end of, before
        thursday, before friday, before the, within two, within ten, within a week, today, in the next, bis morgen, bis montag,
        bis dienstag, bis mittwoch, bis donnerstag, bis freitag, bis samstag, bis ende, morgen, heute noch, mañana, el lunes, el
        viernes, esta tarde, esta semana, en diez días, en una semana, para el lunes, demain, avant jeudi, avant vendredi, lundi,
        samedi, sous deux jours, sous dix jours, cet après-midi, cette semaine, amanhã, até amanhã, até segunda, até sexta*, até
        quinta*, hoje à tarde, ainda hoje, no sábado, esta semana, em dez dias, domani, entro domani, venerdì, morgen, vrijdag,
        завтра, к пятнице, 明天, 周五, 本周, 今天下午, 下周, 周末, 之前, 明日, までに, 今日の午後, 期日, 来週, 내일, 금요일까지
    """,
    "like": """
        prefer, prefers, preferred, preference, likes, like, liked, dislike, dislikes, hate, hates, love, loves, favourite,
        favorite, favour, favours, favor, enjoy, enjoys, rather, fond of, keen on, fan of, can't stand, would like, he'd like, i'd
        like, wants, picks, don't like, doesn't like, please call me, please write, bevorzugt, bevorzuge, mag, mögen, lieber,
        hasst, liebt, lieblings*, möchte lieber, zieht, gefällt, gern, gerne, wünscht, prefiere, prefiero, prefieren, gusta,
        gustan, gustaría, odia, encanta, encantan, favorito, favorita, le molesta, préfère, préfèrent, préféré*, aime, n'aime pas,
        aimerait, déteste, adore, plaît, prefere, prefiro, preferem, gosta, gosto, gostam, odeia, adora, detesta, preferito,
        preferisce, preferisco, piace, piacciono, odia, liever, houdt van, houdt niet, voorkeur, favoriet, предпочитает,
        предпочитаю, нравится, нравятся, любит, люблю, ненавидит, 喜欢, 偏好, 更喜欢, 倾向于, 讨厌, 最爱, 希望别人, 爱吃, 爱喝,
        喜爱, 好む, 好み, 好き, 嫌い, 苦手, 希望して, のほうが好, 선호, 좋아, 싫어
    """,
    "role": """
        manager, boss, supervisor, superior, brother, sister, cousin, wife, husband, mother, father, son, daughter, married,
        colleague, co-founder*, founder of, mentor*, mentors, subsidiary, parent company, customer of, partner of, contact person,
        point of contact, works for, works with, work together, reports to, head of, leads, lead of, member of, backup, dentist,
        doctor of, landlord, supplier of, vorgesetzte*, chefin, chef, bruder, schwester, tochter, mutter, frau von, kollege*,
        kollegin, ansprechpartner*, arbeitet für, berichtet an, leitet, verheiratet, jefa, jefe, hermano, hermana, esposa,
        marido, hijo, hija, filial, trabaja para, persona de contacto, profesora, profesor, supérieur*, frère, sœur, mari, femme
        de, fille de, filiale, travaille pour, dirige, collègue*, chefe, gerente, irmão, irmã, esposa, filha, filho, trabalha
        para, contato do, contato da, responsabile, fratello, sorella, capo, lavora per, baas, broer, zus, werkt voor,
        руководитель, начальник, брат, сестра, жена, муж, работает на, 经理, 上司, 下属, 同事, 哥哥, 弟弟, 姐姐, 妹妹, 妻子, 丈夫,
        子公司, 母公司, 汇报, 负责人, 联系人, 牙医, 部下, 上司, 兄, 姉, 弟, 妹, 夫, 子会社, 窓口, 同僚, 率いて, 상사, 부하, 자회사, 형제, 담당자
    """,
    "owns": """
        owns, owned by, is owned, belongs to, belong to, maintained by, responsible for, is part of, in charge of, operated by,
        run by, managed by, runs the, gehört, zuständig, verantwortlich, betreut, pertenece, pertenecen, es responsable,
        propiedad de, appartient, appartiennent, est responsable, gère, fait partie, pertence, pertencem, é responsável,
        responsável por, faz parte, appartiene, fa parte, hoort bij, verantwoordelijk, принадлежит, отвечает за, 负责, 属于, 隶属,
        归属, 負責, 所属, 担当, に属, 소속, 담당
    """,
    "depends": """
        depends on, depend on, dependency, calls the, feeds, reads from, writes to, references, links, connects to, consumes,
        used by, uses the, talks to, hängt von, hängt vom, abhängig, nutzt den, greift auf, depende de, depende del, depende da,
        depende do, dépend de, dépend du, utilisé par, est utilisé, dipende da, dipende dal, hangt af van, зависит от, 依赖, 调用,
        依存, 呼び出す側, 의존
    """,
    "now": """
        currently, right now, at the moment, at present, so far, for now, in progress, in the middle of, halfway, still waiting,
        waiting for, as of today, these days, in this session, this week the, until the end, status, current state, state of play,
        present situation, where things stand, progress, under review, is being, are being, is paused, blocked, unresolved,
        working thesis, currently working, derzeit, zurzeit, momentan, im moment, gerade, aktuell*, stand, bisher, warten, läuft
        gerade, mitten in, actualmente, en este momento, ahora mismo, ahora, de momento, por ahora, estado, a la espera, a mitad
        de, actuellement, en ce moment, pour l'instant, en cours, état actuel, à ce stade, nous attendons, où nous en sommes,
        au milieu de, atualmente, no momento, agora, por enquanto, em andamento, estado atual, situação atual, estamos, no meio
        da, no meio do, aguardando, esperando, al momento, attualmente, stato attuale, in corso, op dit moment, momenteel, huidige
        stand, сейчас, в данный момент, текущее, пока, ждём, 目前, 当前, 现在, 正在, 进行中, 暂时, 进度, 等待, 现状, 現在, 今は,
        今のところ, 進捗, 中です, 中だ, 作業中, 当面, ところです, ところだ, 実装中, 状況, 현재, 지금, 중이다, 중입니다
    """,
    "remaining": """
        left, remain, remains, remaining, open, next, next step, missing, pending, not yet, done, to go, half, nothing else, of
        the, offen, fehlt, fehlen, noch, nächster schritt, erledigt, rest, hälfte, falta, faltan, pendiente, pendientes, listo,
        lista, siguiente paso, hecho, la mitad, quedan, reste, restent, manquant, manque, prochaine étape, fait, la moitié, falta,
        faltam, próximo passo, pronto, pronta, feito, metade, pendente, manca, mancano, prossimo passo, ontbreekt, volgende stap,
        осталось, следующий шаг, 还剩, 剩余, 尚未, 已完成, 下一步, 还差, 未完成, 残り, 済み, まだ, 完了, 次は, 終わって, 남았, 아직
    """,
    "handoff": "session handoff, handoff, hand-off, do not redo, übergabe der schicht, relevo de sesión, 会话交接, セッション引き継ぎ",
    "past day": """
        yesterday, last night, last week, last monday, last tuesday, last thursday, last friday, last month, last year, this
        morning, two days ago, two weeks ago, days ago, weeks ago, on monday, on tuesday, on wednesday, on thursday, on friday, on
        sunday, on saturday, gestern, letzte woche, letzten montag, vorgestern, heute früh, heute morgen, am montag, am dienstag,
        am freitag, ayer, la semana pasada, el lunes, el martes, el miércoles, el jueves, esta mañana, anoche, hace dos, hier, hier
        soir, la semaine dernière, lundi, mardi, mercredi, jeudi, ce matin, il y a, ontem, na semana passada, na segunda, na terça,
        hoje de manhã, de madrugada, ieri, la settimana scorsa, stamattina, gisteren, vorige week, вчера, на прошлой неделе, сегодня
        утром, 昨天, 上周, 周一, 周二, 周三, 今早, 今天早上, 前天, 昨晚, 昨日, 先週, 今朝, 月曜日, 火曜日に, 昨夜, 一昨日, 어제, 지난주,
        오늘 아침
    """,
    "month": """
        january, february, march, april, may, june, july, august, september, october, november, december, januar, februar, märz,
        mai, juni, juli, oktober, dezember, enero, febrero, marzo, abril, mayo, junio, julio, agosto, septiembre, octubre,
        noviembre, diciembre, janvier, février, mars, avril, juin, juillet, août, septembre, octobre, novembre, décembre,
        janeiro, fevereiro, março, maio, junho, julho, setembro, outubro, novembro, dezembro, gennaio, maggio, mei, января,
        февраля, марта, апреля, мая, июня, июля, августа, сентября, октября, ноября, декабря
    """,
    "happened": """
        finished, took place, was down, released, shipped, deployed, joined, left the company, moved, signed, visited, completed,
        was held, cancelled the, started, went off, arrived, rebooted, was born, went out, renewed, published, closed, opened, was
        restored, launched, ended, passed, met, called, happened, failed over, rewrote, burst, was vaccinated, unterschrieben,
        ausgeliefert, dazugekommen, storniert, umgezogen, stattgefunden, fand statt, in betrieb genommen, endete, platzte, gestartet,
        wurde, wurden, firmamos, publicamos, se incorporaron, canceló, se celebró, se mudó, se reinició, estuvo, llegó, comenzó,
        terminó, avons signé, avons publié, a annulé, a déménagé, sont arrivés, est sortie, est tombé, a été, s'est terminé*, a eu
        lieu, assinamos, publicamos, cancelou, mudou, chegaram, ficou fora, visitou, inaugurou, lançamos, aconteceu, terminou,
        firmato, è rimasto, getekend, подписали, не работал, состоялась, 签订, 入职, 发布了, 取消了, 搬到, 中断了, 重启了,
        完成了, 举行, 上线, 召开, 締結, 入社, 公開した, キャンセルした, 移転, 停止した, リリースした, 開始した, 行われた, 開催, 破裂,
        체결, 중단되었, 입사, 출시했
    """,
    "lesson": """
        learned, learnt, lesson, lessons, takeaway, turns out, turned out, insight, finding, in hindsight, next time, realised,
        realized, discovered, found out, found that, rule of thumb, taught us, taught me, what worked, it pays off, experience
        shows, the trick is, conclusion, the experiment showed, now i know, we now know, became clear, key takeaway, worth
        repeating, underestimated, works better, more reliable than, gelernt, lektion, erkenntnis, fazit, herausgestellt, zeigte
        sich, bewährt, lehre, merke, aprendimos, aprendido, aprendí, lección, resultó que, descubrimos, conclusión, funciona mejor,
        conviene, enseñanza, appris, leçon, s'est avéré, découvert, conclusion, retenons, retenir, donne de meilleurs, enseignement,
        aprendemos, aprendi, lição, acontece que, descobrimos, descobri, conclusão, funciona melhor, percebeu-se que, imparato,
        lezione, scoperto, conviene, geleerd, bleek, урок, поняли, оказалось, вывод, узнали, выяснилось, 教训, 经验, 学到, 学会,
        了解到, 事实证明, 总结, 效果更好, 得知, 原来, 教訓, 学び, 学んだ, 学びました, 分かった, 判明, 結論, 反省, うまくいく, べきだ,
        ほうが, 교훈, 배웠, 알게 되었, 깨달았
    """,
    "better": """
        better, faster, sooner, cheaper, three times, twice as, in half, more stable, more often, fewer mistakes, saves, reduces,
        besser, schneller, öfter, halbiert, spart, mejor, más rápido, reducen, mieux, plus vite, réduisent, melhor, mais rápido,
        reduzem, reduz, meglio, beter, sneller, лучше, быстрее, 更好, 更快, 减少, 更稳定, 胜过, 減る, 早い, 安全, 上がる, 더 나은
    """,
    "seems": """
        seem, seems, seemed, appear, appears, apparently, looks, looks like, sounds, tends to, tend to, probably, as if, a bit, it
        looks, scheint, wirkt, klingt, offenbar, anscheinend, sieht aus, parece, parecen, por lo visto, aparentemente, semble,
        semblent, a l'air, ont l'air, apparemment, on dirait, parecem, tende a, tendem a, sembra, sembrano, lijkt, lijken, похоже,
        кажется, выглядит, видимо, 似乎, 好像, 看起来, 看来, 显得, ようだ, ようです, そうだ, そうに, らしい, 気がする, 見える, 傾向, がち,
        みたい, 것 같다, 듯하다, 보인다
    """,
    "noticed": """
        noticed, notice, observed, observe, observation, i see, interesting, there is a faint, were seen, the graph shows, aufgefallen,
        auffällig, fällt auf, beobachtet, beobachtung, bemerkt, he notado, noté, observo, observamos, se observa, he visto, j'ai
        remarqué, remarque, on observe, on constate, constaté, notei, percebi, reparei, observei, observou-se, observa-se, notato,
        osservato, valt op, opgevallen, gemerkt, заметил, замечено, наблюдается, 注意到, 观察到, 发现, 看到, 気づ, 気付, 見られる, 観察,
        발견했, 관찰, 눈에 띄
    """,
    "trend": """
        usually, often, frequently, mostly, most, lately, recently, every monday, increasing, growing, climbs, climb, rises, rise,
        creeps, getting worse, more and more, falling, drops, drop, keeps, louder, higher, quieter, slower, faint, unusually,
        fewer, doubles, steigt, steigen, wächst, meistens, oft, in letzter zeit, mehr anfragen, lauter, leiser, langsamer, suelen,
        suele, últimamente, crece, aumenta, baja, más consultas, poco a poco, ont tendance, ces derniers temps, souvent, grossit,
        hausse, baisse, plus lent, costumam, costuma, ultimamente, cresce, sobe, aos poucos, às segundas, mais perguntas, cresce,
        spesso, groeit, vaak, растёт, обычно, часто, в последнее время, 往往, 最近, 越来越, 上升, 变长, 经常, 通常, 明显, 缓慢, 更容易,
        最近, 増えて, 減って, 少しずつ, 長くなる, 遅くなる, やすい, 多い, 점점, 자주, 요즘
    """,
    "stored": """
        lives at, stored, saved, located, is in docs, are in the folder, exported to, uploaded to, can be found,
        kept in, checked in, link, repository, template, draft of, recording, dashboard, folder, drive, ticket, issue,
        commit, pull request, script, config file, notebook, archive, dataset, image, schema, tracking number, order number,
        session id, liegt unter, liegt in, steht in, ablage, ordner, vorlage, datei, skript, auftragsnummer, nummer,
        guardado, guardada, está en, se encuentra, enlace, carpeta, plantilla, documento, archivo, número de, resultados,
        enregistré, se trouve, est dans, sont dans, lien, fichier, modèle, dossier, numéro de, maquette, salvo, salva, fica em,
        está em, arquivo, planilha, pasta, número do, modelo de, salvato, collegamento, cartella, staat in, лежит, ссылка,
        файл, папка, 保存在, 位于, 存放, 链接, 路径, 地址, 编号, 文件夹, 模板, 文件, 文档, 目录, に保存, にあります, にある, リンク, 場所,
        番号, テンプレート, ファイル, 設計書, フォルダ, 議事録, 저장되어, 링크, 폴더, 파일
    """,
    "failed": """
        fail, fails, failed, failure, failing, crash, crashed, crashes, broke, broken, breaks, error, errors, exception, traceback,
        bug, fault, outage, wrong, mistake, denied, refused, rejected with, was rejected, timed out, time-out, timeout, hangs,
        hang, flake, flaky, segmentation, not found, bounced, tripped, lost, stale, out of memory, exhausted, misspelled, typo,
        missed, looped, deleted the wrong, fehler, fehlgeschlagen, schlug fehl, schlägt fehl, absturz, abgestürzt, brach ab,
        abbricht, kaputt, falsch, verloren, falló, falla, fallo, error, se bloqueó, rechazado, mal escrito, caducado, caído,
        avería, échoué, échoue, erreur, planté, plante, panne, refusé, mal orthographié, expiré, bloqué, falhou, falha, erro,
        travou, recusado, caiu, errado, fallit*, errore, guasto, sbagliat*, mislukt*, fout, verkeerd, ошибка, сбой, не удалось,
        упал, неверно, 失败, 错误, 报错, 异常, 崩溃, 故障, 出错, 写错, 被拒绝, 超时, 超限, 失敗, エラー, 障害, 落ちた, 落ちる, 拒否, 不具合,
        間違, 例外, 異常, 실패, 오류, 장애, 예외
    """,
    "cause": """
        root cause, cause, caused by, was to blame, the reason was, ursache, grund war, causa, la causa, cause racine, cause,
        causa raiz, oorzaak, причина, 根本原因, 原因, 根因, 導致, 导致, 原因は, 根本原因, 원인
    """,
    "fix": """
        fix, fixed, fixes, helped, resolved it, solved, workaround, correction, pinning, rollback, retry, rerun, restart it, try
        again, first, install, clean, half, behoben, lösung, neustart, zuerst, arregló, solucionó, solución, primero, ejecutar,
        résolu, corrigé, lancer, d'abord, vider, solution, resolveu, corrigido, rodar, primeiro, solução, risolto, opgelost,
        исправлено, помогло, 解决, 修复, 恢复, 先运行, 提高限制, 解決, 修正, 先に, 実行する, 再発行, 해결
    """,
    "state": """
        is, are, has, have, costs, contains, holds, supports, runs, requires, includes, lasts, weighs, takes, accepts, uses,
        allows, keeps, expires, ist, hat, liegt, kostet, beträgt, enthält, läuft, dauert, es, tiene, cuesta, está, incluye, usa,
        contiene, dura, est, coûte, contient, dispose, compte, se trouve, dure, é, tem, custa, fica, inclui, usa, contém, dura,
        vence, si trova, costa, ha, kost, heeft, имеет, находится, стоит, 是, 有, 位于, 包含, 为, 最多, 使用, です, である, ある, できる,
        있다, 입니다
    """,
    "unit": """
        gb, mb, tb, ms, euro, euros, dollars, percent, hours, minutes, seconds, days, months, rows, requests, calls, seats,
        employees, people, desks, degrees, kilograms, port, version, plan, tier, tariff, licence, prozent, stunden, minuten, jahre,
        zeilen, tage, monat, horas, minutos, días, empleados, mes, llamadas, cuenta, heures, minutes, mois, lignes, requêtes,
        salariés, reais, mês, linhas, chamadas, plano, 每月, 每分钟, 分钟, 小时, 公里, 行, 次, 套餐, 総部, 总部, 月額, 分間, 時間, 行ある,
        本社, プラン, 期限
    """,
    "place": """
        headquarter*, capital, founded, birthday, name is, lives in, allergic, closes at, opens at, closed on, born in, speaks,
        phone number, address is, hauptsitz, geöffnet, geschlossen, sede, abre, cierra, fundada, ferme, ouvre, siège, fecha, abre,
        总部, 开门, 闭馆, 位于, 本社, 開く, 開館
    """,
}

SHAPES: Final[Mapping[str, str]] = {
    "url": r"https?://|s3://|git@|\bwww\.",
    "path": r"(?<![\w/:.])(?:/|~/|\.{1,2}/)?(?:[\w.-]{1,40}/){1,8}[\w.-]{0,40}",
    "file": r"\.(?:ya?ml|jsonl?|pdf|docx?|xlsx?|csv|sh|rs|py|js|ts|md|onnx|parquet|toml|sql|proto|ipynb|mp3|png|svg|dwg"
    r"|tar|gz|txt|log|html)\b",
    "whole": r"^\S{4,400}$",
    "ticket": r"\b[a-z]{2,8}-\d{2,9}\b|#\d{2,9}|\b\d{1,4}-\d{3,9}",
    "date": r"\b\d{4}-\d\d-\d\d\b|\d{1,2}\s?[月日]|[一二三四五六七八九十]月|\d{1,2}월"
    r"|\b\d{1,2}\.? (?:de )?(?:jan|feb|fév|fev|mar|mär|apr|avr|abr|mai|may|jun|jul|aug|aoû|ago|sep|oct|okt|out|nov|dec"
    r"|dez|déc|dic|янв|фев|апр|мая|июн|июл|авг|сен|окт|ноя|дек)",
    "clock": r"\b\d{1,2}:\d\d\b|\b\d{1,2} ?h\b",
    "year": r"\b(?:19|20)\d\d\b",
    "percent": r"%|percent|prozent|por ciento|pour cent|por cento|パーセント|百分之|[一二三四五六七八九]成",
    "error name": r"\b[a-z]{2,40}(?:error|exception)\b|\b[45]\d\d\b|traceback|exit code|\bcode \d",
    "label": r"^[^\s:]{1,20}(?:\s[^\s:]{1,20}){0,2}\s?:",
    "possessive": r"\bis [\w .]{1,30}'s\b|\w's \w{1,20} (?:is|are|runs)\b",
    "past": r"\b\w{2,20}ed\b",
    "bars": r"\|",
    "numbered run": r"\b(?:run|lauf|job|session|ejecución|exécution|execução) (?:nr\.? |no\.? |n\. )?\d",
    "quoted": r'"[^"\n]{1,60}"|«[^»\n]{1,60}»|“[^”\n]{1,60}”|「[^」\n]{1,60}」',
    "if quoted": r'^(?:if|when|si|quand|lorsque|cuando|se|quando|wenn)\b.{1,60}["«“]',
    "semicolon": r";",
    "i": r"\b(?:i|i'm|my|me|i'll|i'd|ich|mir|mein|yo|je|eu|io|ik|я)\b|我|私|저는",
    "we": r"\b(?:we|our|us|wir|unser|nous|notre|nuestro|nossa|nosso|wij|мы)\b|我们|我々|우리",
}
"""Patterns of what is no word: addresses, dates, codes, who speaks; matched case-folded."""

IMPERATIVES: Final = """
    add answer ask avoid call check close confirm copy create delete do document ensure escalate escape follow give hand
    include keep leave limit log mark move notify only open page pin prefer put quote read rebase record remember remove
    reply report respect restart return review round run send set sort start stop store switch tag tell test treat turn
    update use validate verify wait wear wrap write
"""
"""English verbs that open an order."""
