import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.math.BigInteger;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.web3j.crypto.Credentials;
import org.web3j.crypto.RawTransaction;
import org.web3j.crypto.TransactionEncoder;
import org.web3j.crypto.AccessListObject;
import org.web3j.protocol.Web3j;
import org.web3j.protocol.Web3jService;
import org.web3j.protocol.core.DefaultBlockParameter;
import org.web3j.protocol.core.DefaultBlockParameterName;
import org.web3j.protocol.core.Request;
import org.web3j.protocol.core.Response;
import org.web3j.protocol.core.methods.request.EthFilter;
import org.web3j.protocol.core.methods.request.Transaction;
import org.web3j.protocol.core.methods.response.EthBlock;
import org.web3j.protocol.core.methods.response.EthCall;
import org.web3j.protocol.core.methods.response.EthChainId;
import org.web3j.protocol.core.methods.response.EthFeeHistory;
import org.web3j.protocol.core.methods.response.EthGetBalance;
import org.web3j.protocol.core.methods.response.EthGetCode;
import org.web3j.protocol.core.methods.response.EthGetTransactionReceipt;
import org.web3j.protocol.core.methods.response.TransactionReceipt;
import org.web3j.protocol.http.HttpService;
import org.web3j.protocol.websocket.WebSocketService;
import io.reactivex.disposables.Disposable;

/** Lives one day with web3j, and prints one JSON line per step. */
public class Day {
    static final ObjectMapper json = new ObjectMapper();
    static final BigInteger gas = BigInteger.valueOf(300_000);
    static final BigInteger fee = BigInteger.valueOf(20_000_000_000L);
    static final BigInteger tip = BigInteger.valueOf(1_000_000_000L);
    static final DefaultBlockParameterName latest = DefaultBlockParameterName.LATEST;
    static JsonNode day;
    static String counter;
    static Web3j web3;
    static Web3jService service;
    static Credentials account;

    static void show(String step, Callable<Object> run) throws Exception {
        Map<String, Object> line = new LinkedHashMap<>();
        line.put("step", step);
        try {
            line.put("result", run.call());
        } catch (Throwable error) {
            line.put("error", textOf(error));
        }
        synchronized (json) {
            System.out.println(json.writeValueAsString(line));
        }
    }

    static String textOf(Throwable error) {
        return error.getClass().getSimpleName() + ": " + error.getMessage();
    }

    public static void main(String[] args) throws Exception {
        day = json.readTree(System.in);
        counter = day.get("counter").asText();
        account = Credentials.create(day.get("privateKey").asText());
        String url = day.get("url").asText();
        try {
            if (day.get("isSocket").asBoolean()) {
                WebSocketService socket = new WebSocketService(url, false);
                socket.connect();
                service = socket;
            } else service = new HttpService(url);
            web3 = Web3j.build(service);
            if (args[0].equals("reject")) show("reject", () -> read(web3.ethCall(call(counter, day.get("input").asText()), latest)).getValue());
            else if (args[0].equals("close")) close();
            else if (args[0].equals("limit")) for (int count = 0; count < 4; count++) show("call", () -> read(balance()).getBalance());
            else if (args[0].equals("restart")) restart();
            else live();
        } catch (Throwable error) {
            show(args[0], () -> { throw new Exception(textOf(error)); });
        }
        System.out.flush();
        System.exit(0);
    }

    /** @throws Exception with the client's own message of an error response */
    static <T extends Response<?>> T read(Request<?, T> request) throws Exception {
        T response = request.send();
        if (response.hasError()) throw new Exception(response.getError().getCode() + " " + response.getError().getMessage());
        return response;
    }

    static void close() throws Exception {
        read(web3.ethBlockNumber());
        show("open", () -> null);
        while (true) {
            try {
                web3.ethBlockNumber().sendAsync().get(15, TimeUnit.SECONDS);
                Thread.sleep(100);
            } catch (TimeoutException error) {
                show("timeout", () -> null);
                return;
            } catch (Exception error) {
                show("close", () -> { throw error; });
                return;
            }
        }
    }

    static Request<?, EthGetBalance> balance() {
        return web3.ethGetBalance(counter, latest);
    }

    static boolean isServed() {
        try {
            return !balance().sendAsync().get(5, TimeUnit.SECONDS).hasError();
        } catch (Exception error) {
            return false;
        }
    }

    /** Calls until one fails, then until one succeeds. */
    static void restart() throws Exception {
        show("open", Day::isServed);
        while (isServed()) Thread.sleep(100);
        show("down", () -> null);
        for (long start = System.nanoTime(); System.nanoTime() - start < 30_000_000_000L; Thread.sleep(100)) {
            if (!isServed()) continue;
            show("again", () -> null);
            return;
        }
        show("timeout", () -> null);
    }

    static Transaction call(String to, String data) {
        return Transaction.createEthCallTransaction(account.getAddress(), to, data);
    }

    static List<Object> send(RawTransaction transaction) throws Exception {
        long chainId = day.get("chainId").asLong();
        // With a chain ID, the encoder signs only legacy transactions and those of type 2.
        boolean isAccessList = transaction.getType().isEip2930();
        byte[] signed = isAccessList
            ? TransactionEncoder.signMessage(transaction, account)
            : TransactionEncoder.signMessage(transaction, chainId, account);
        return receiptOf(read(web3.ethSendRawTransaction(org.web3j.utils.Numeric.toHexString(signed))).getTransactionHash());
    }

    static List<Object> receiptOf(String hash) throws Exception {
        for (int count = 0; count < 600; count++, Thread.sleep(50)) {
            EthGetTransactionReceipt found = read(web3.ethGetTransactionReceipt(hash));
            if (found.getTransactionReceipt().isEmpty()) continue;
            TransactionReceipt receipt = found.getTransactionReceipt().get();
            String type = read(web3.ethGetTransactionByHash(hash)).getTransaction().get().getType();
            return List.of(receipt.isStatusOK(), receipt.getType(), type, receipt.getLogs().size());
        }
        throw new Exception("no receipt");
    }

    static BigInteger nonce() throws Exception {
        return read(web3.ethGetTransactionCount(account.getAddress(), latest)).getTransactionCount();
    }

    static List<Object> set() throws Exception {
        return send(RawTransaction.createTransaction(day.get("chainId").asLong(), nonce(), gas, counter, BigInteger.ZERO, day.get("set").asText(), tip, fee));
    }

    static void live() throws Exception {
        String data = day.get("set").asText();
        show("connect", () -> List.of(read(web3.ethChainId()).getChainId(), read(web3.netVersion()).getNetVersion()));
        show("reads", () -> {
            set();
            EthBlock.Block block = read(web3.ethGetBlockByNumber(latest, true)).getBlock();
            EthFilter filter = new EthFilter(DefaultBlockParameter.valueOf(block.getNumber()), latest, counter);
            return List.of(
                read(web3.ethGetBalance(account.getAddress(), latest)).getBalance().signum(),
                read(web3.ethGetCode(counter, latest)).getCode().length(),
                read(web3.ethGetStorageAt(counter, BigInteger.ZERO, latest)).getData(),
                read(web3.ethCall(call(counter, day.get("number").asText()), latest)).getValue(),
                block.getTransactions().size(),
                read(web3.ethGetLogs(filter)).getLogs().size());
        });
        show("estimates", () -> read(web3.ethEstimateGas(call(counter, data))).getAmountUsed());
        show("legacy", () -> send(RawTransaction.createTransaction(nonce(), fee, gas, counter, BigInteger.ZERO, data)));
        show("access_list", () -> send(RawTransaction.createTransaction(day.get("chainId").asLong(), nonce(), fee, gas, counter, BigInteger.ZERO, data,
            List.of(new AccessListObject(counter, List.of("0x" + "0".repeat(64)))))));
        show("dynamic_fee", Day::set);
        show("blobs", () -> receiptOf(read(web3.ethSendRawTransaction(day.get("blobTransaction").asText())).getTransactionHash()));
        // TransactionEncoder of the versions for Java 17 has no EIP-7702.
        show("set_code", () -> "not supported");
        show("reverts", () -> {
            List<Object> ends = new ArrayList<>();
            for (JsonNode revert : day.get("reverts")) {
                EthCall end = web3.ethCall(call(day.get("gate").asText(), revert.asText()), latest).send();
                ends.add(end.isReverted() + " " + end.getRevertReason() + " " + (end.hasError() ? end.getError().getData() : null));
            }
            return ends;
        });
        show("filters", () -> {
            EthFilter filter = new EthFilter(latest, latest, counter);
            BigInteger id = read(web3.ethNewFilter(filter)).getFilterId();
            set();
            int logs = 0;
            // The gateway polls the head.
            for (int count = 0; count < 300 && logs == 0; count++, Thread.sleep(100)) logs = read(web3.ethGetFilterChanges(id)).getLogs().size();
            return List.of(logs > 0, read(web3.ethUninstallFilter(id)).isUninstalled());
        });
        show("subscriptions", () -> {
            if (!day.get("isSocket").asBoolean()) return null;
            CountDownLatch heads = new CountDownLatch(1);
            CountDownLatch logs = new CountDownLatch(1);
            Disposable one = web3.newHeadsNotifications().subscribe(head -> heads.countDown());
            Disposable two = web3.logsNotifications(List.of(counter), List.of()).subscribe(log -> logs.countDown());
            // It subscribes asynchronously.
            for (int count = 0; count < 20 && (heads.getCount() > 0 || logs.getCount() > 0); count++) {
                set();
                logs.await(1, TimeUnit.SECONDS);
                heads.await(1, TimeUnit.SECONDS);
            }
            List<Object> left = List.of(heads.getCount(), logs.getCount());
            one.dispose();
            two.dispose();
            return left;
        });
        show("batches", () -> {
            List<? extends Response<?>> responses = web3.newBatch().add(web3.ethGetCode(counter, latest))
                .add(web3.ethGetStorageAt(counter, BigInteger.ZERO, latest)).send().getResponses();
            return List.of(((EthGetCode) responses.get(0)).getCode().length(), responses.get(1).getResult());
        });
        show("oversized_batch", () -> {
            var batch = web3.newBatch();
            for (int count = 0; count < 1_100; count++) batch.add(web3.ethChainId());
            var sent = batch.sendAsync().get(10, TimeUnit.SECONDS);
            Response<?> first = sent.getResponses().get(0);
            return List.of(sent.getResponses().size(), first.hasError() ? first.getError().getMessage() : "no error");
        });
        show("pending_and_missing_blocks", () -> {
            BigInteger number = read(web3.ethBlockNumber()).getBlockNumber();
            EthBlock.Block pending = read(web3.ethGetBlockByNumber(DefaultBlockParameterName.PENDING, false)).getBlock();
            EthBlock missing = read(web3.ethGetBlockByNumber(DefaultBlockParameter.valueOf(BigInteger.valueOf(1_000_000_000)), false));
            return List.of(
                pending.getNumber().equals(number.add(BigInteger.ONE)),
                missing.getBlock() == null,
                read(web3.ethGetTransactionByHash("0x" + "ab".repeat(32))).getTransaction().isEmpty());
        });
        show("fee_history", () -> {
            EthFeeHistory.FeeHistory history = read(web3.ethFeeHistory(2, latest, List.of(10.0, 90.0))).getFeeHistory();
            return List.of(history.getBaseFeePerGas().size(), history.getReward().size(), history.getGasUsedRatio().size());
        });
        show("proofs", () -> {
            var proof = read(web3.ethGetProof(counter, List.of("0x0"), "latest")).getProof();
            return List.of(!proof.getAccountProof().isEmpty(), proof.getStorageProof().size(), proof.getStorageProof().get(0).getValue());
        });
        show("uncles", () -> read(web3.ethGetUncleCountByBlockNumber(latest)).getUncleCount());
        show("opened_namespaces", () -> {
            var status = read(web3.txPoolStatus());
            return List.of(status.getPending(), status.getQueued());
        });
    }
}
