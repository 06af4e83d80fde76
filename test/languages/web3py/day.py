"""Lives one day with web3.py, and prints one JSON line per step."""

import asyncio
import json
import sys
import time

from web3 import AsyncHTTPProvider, AsyncWeb3, HTTPProvider, Web3, WebSocketProvider
from web3.exceptions import ContractCustomError, ContractLogicError, ContractPanicError, Web3Exception

day = json.load(sys.stdin)


def show(step, **fields):
    print(json.dumps({"step": step, **fields}), flush=True)


def text_of(error):
    return f"{type(error).__name__}: {error}"


def reject():
    """One call that the gateway rejects."""
    try:
        Web3(HTTPProvider(day["url"])).eth.call({"to": day["counter"], "data": day["input"]})
        show("reject", result="no error")
    except Exception as error:
        show("reject", error=text_of(error))


async def error_of(call, seconds):
    try:
        await asyncio.wait_for(call(), seconds)
    except Exception as error:
        return text_of(error)


async def close(web3):
    """Calls over one WebSocket until it is closed."""
    await web3.eth.get_balance(day["counter"])
    show("open")
    while not (error := await error_of(lambda: web3.eth.get_balance(day["counter"]), 15)):
        await asyncio.sleep(0.1)
    show("close", error=error)


async def limit(web3):
    """Calls faster than the rate limit of the key."""
    for _ in range(4):
        try:
            show("call", result=await web3.eth.get_balance(day["counter"]))
        except Exception as error:
            show("call", error=text_of(error))


async def restart(web3):
    """Calls until one fails, then until one succeeds."""
    read = lambda: web3.eth.get_balance(day["counter"])
    await read()
    show("open")
    while not await error_of(read, 5):
        await asyncio.sleep(0.1)
    show("down")
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        if not await error_of(read, 5):
            return show("again")
        await asyncio.sleep(0.1)
    show("timeout")


class Day:
    def __init__(self, web3):
        self.web3 = web3
        self.account = web3.eth.account.from_key(day["privateKey"])
        self.delegate = web3.eth.account.create()

    async def connect(self):
        return [await self.web3.is_connected(), await self.web3.eth.chain_id, "/" in await self.web3.client_version]

    async def reads(self):
        eth = self.web3.eth
        await self.send({"type": 2, "data": day["set"]})
        balance = await eth.get_balance(self.account.address)
        code = await eth.get_code(day["counter"])
        number = await eth.call({"to": day["counter"], "data": day["number"]})
        storage = await eth.get_storage_at(day["counter"], 0)
        return [balance > 0, len(code), number.hex(), storage.hex(), await eth.block_number > 0]

    async def estimates(self):
        call = {"from": self.account.address, "to": day["counter"], "data": day["set"]}
        return await self.web3.eth.estimate_gas(call)

    async def send(self, fields):
        eth = self.web3.eth
        call = {
            "from": self.account.address,
            "to": day["counter"],
            "gas": 300_000,
            "chainId": day["chainId"],
            "nonce": await eth.get_transaction_count(self.account.address),
            **fields,
        }
        if fields.get("type", 0) in (0, 1):
            call["gasPrice"] = 20_000_000_000
        else:
            call |= {"maxFeePerGas": 20_000_000_000, "maxPriorityFeePerGas": 1_000_000_000}
        if call.get("type") == 0:
            del call["type"]
        del call["from"]
        return await self.receipt(await eth.send_raw_transaction(self.account.sign_transaction(call).raw_transaction))

    async def receipt(self, hash):
        receipt = await self.web3.eth.wait_for_transaction_receipt(hash, timeout=30, poll_latency=0.05)
        transaction = await self.web3.eth.get_transaction(hash)
        return [receipt["status"], receipt["type"], transaction["type"], len(receipt["logs"])]

    async def legacy(self):
        return await self.send({"type": 0, "data": day["set"]})

    async def access_list(self):
        accessed = [{"address": day["counter"], "storageKeys": ["0x" + "00" * 32]}]
        return await self.send({"type": 1, "data": day["set"], "accessList": accessed})

    async def dynamic_fee(self):
        return await self.send({"type": 2, "data": day["set"]})

    async def blobs(self):
        return await self.receipt(await self.web3.eth.send_raw_transaction(day["blobTransaction"]))

    async def set_code(self):
        authorization = self.delegate.sign_authorization(
            {"chainId": day["chainId"], "address": day["counter"], "nonce": 0}
        )
        return await self.send({"type": 4, "data": day["set"], "authorizationList": [authorization]})

    async def reverts(self):
        ends = []
        for data in day["reverts"]:
            try:
                await self.web3.eth.call({"to": day["gate"], "data": data})
                ends.append("no error")
            except (ContractLogicError, ContractCustomError, ContractPanicError) as error:
                ends.append(f"{type(error).__name__}: {error.message} {error.data}")
        return ends

    async def filters(self):
        made = await self.web3.eth.filter({"address": day["counter"]})
        blocks = await self.web3.eth.filter("latest")
        await self.send({"type": 2, "data": day["set"]})
        logs, hashes = [], []
        # The gateway polls the head.
        while not logs or not hashes:
            logs += await made.get_new_entries()
            hashes += await blocks.get_new_entries()
            await asyncio.sleep(0.1)
        return [len(logs) > 0, len(hashes) > 0, await self.web3.eth.uninstall_filter(made.filter_id)]

    async def subscriptions(self):
        if not day["isSocket"]:
            return None
        heads = await self.web3.eth.subscribe("newHeads")
        logs = await self.web3.eth.subscribe("logs", {"address": day["counter"]})
        await self.send({"type": 2, "data": day["set"]})
        seen = {}
        async with asyncio.timeout(20):
            async for message in self.web3.socket.process_subscriptions():
                seen[message["subscription"]] = seen.get(message["subscription"], 0) + 1
                if len(seen) == 2:
                    break
        await self.web3.eth.unsubscribe(heads)
        await self.web3.eth.unsubscribe(logs)
        return sorted(seen.values())

    async def batches(self):
        async with self.web3.batch_requests() as batch:
            batch.add(self.web3.eth.get_code(day["counter"]))
            batch.add(self.web3.eth.get_storage_at(day["counter"], 0))
            code, storage = await batch.async_execute()
        return [len(code), storage.hex()]

    async def oversized_batch(self):
        try:
            async with self.web3.batch_requests() as batch:
                for _ in range(1_100):
                    batch.add(self.web3.eth.get_storage_at(day["counter"], 0))
                return len(await batch.async_execute())
        except Web3Exception as error:
            return type(error).__name__

    async def pending_and_missing_blocks(self):
        eth = self.web3.eth
        pending = await eth.get_block("pending")
        latest = await eth.block_number
        ends = [pending["number"] == latest + 1, (await eth.get_block("safe"))["number"] >= 0]
        for call in (eth.get_block(10**9), eth.get_transaction("0x" + "ab" * 32)):
            try:
                await call
                ends.append("no error")
            except Web3Exception as error:
                ends.append(text_of(error))
        return ends

    async def fee_history(self):
        history = await self.web3.eth.fee_history(2, "latest", [10.0, 90.0])
        return [len(history["baseFeePerGas"]), len(history["reward"]), len(history["gasUsedRatio"])]

    # Version 8 has it in its synchronous client only, which has no WebSocket with subscriptions.
    async def proofs(self):
        if day["isSocket"]:
            return "not supported"
        proof = Web3(HTTPProvider(day["url"])).eth.get_proof(day["counter"], [0], "latest")
        return [len(proof["accountProof"]) > 0, len(proof["storageProof"]), proof["storageProof"][0]["value"].hex()]

    # Version 8 has no uncles.
    async def uncles(self):
        return "not supported"

    async def opened_namespaces(self):
        status = await self.web3.geth.txpool.status()
        return {name: int(count, 16) if isinstance(count, str) else count for name, count in status.items()}


STEPS = [
    *("connect", "reads", "estimates", "legacy", "access_list", "dynamic_fee", "blobs", "set_code", "reverts"),
    *("filters", "subscriptions", "batches", "oversized_batch", "pending_and_missing_blocks", "fee_history"),
    *("proofs", "uncles", "opened_namespaces"),
]


async def live(web3):
    own = Day(web3)
    for step in STEPS:
        try:
            show(step, result=await asyncio.wait_for(getattr(own, step)(), 60))
        except Exception as error:
            show(step, error=text_of(error))


MODES = {"day": live, "close": close, "limit": limit, "restart": restart}


async def main(mode):
    if day["isSocket"]:
        async with AsyncWeb3(WebSocketProvider(day["url"], request_timeout=15)) as web3:
            await mode(web3)
    else:
        web3 = AsyncWeb3(AsyncHTTPProvider(day["url"]))
        await mode(web3)
        await web3.provider.disconnect()


if sys.argv[1] == "reject":
    reject()
else:
    asyncio.run(main(MODES[sys.argv[1]]))
