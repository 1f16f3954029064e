"""A LangChain chain that answers from what others stored, and leaves a line of what it was asked."""

import sys
import time

from langchain_core.language_models.fake_chat_models import FakeListChatModel
from langchain_core.output_parsers import StrOutputParser
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.runnables import RunnableLambda, RunnablePassthrough

from langchain_memanto import MemantoRetriever, numbered
from memanto import Embedded, Memanto

QUESTION = "why does the queue stall"
model = FakeListChatModel(responses=["For want of Redis connections [1]."])  # stands for yours
prompt = ChatPromptTemplate.from_messages([("system", "{memories}"), ("human", "{question}")])

with Memanto("shop", store=Embedded(sys.argv[1]), source="langchain") as memory:
    retriever = MemantoRetriever(memory=memory, k=3, types=["learning"])
    while not (found := retriever.invoke(QUESTION)):
        time.sleep(0.1)  # the crew is still at work
    memories = {"memories": retriever | RunnableLambda(numbered), "question": RunnablePassthrough()}
    reply = (memories | prompt | model | StrOutputParser()).invoke(QUESTION)
    memory.remember(f"Answered {QUESTION!r}: {reply} ({found[0].id})", type="event", provenance="observed")
