// Lives one day with go-ethereum's ethclient, rpc and gethclient, and prints one JSON line per step.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"os"
	"strings"
	"time"

	"github.com/ethereum/go-ethereum"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/ethclient"
	"github.com/ethereum/go-ethereum/ethclient/gethclient"
	"github.com/ethereum/go-ethereum/rpc"
	"github.com/holiman/uint256"
)

// Day is the input of the program, JSON on standard input.
type Day struct {
	URL, PrivateKey, Input string
	IsSocket               bool
	ChainID                int64
	Counter, Gate          common.Address
	Number, Set            hexutil.Bytes
	Reverts                []hexutil.Bytes
	BlobTransaction        hexutil.Bytes
}

var (
	day Day
	ctx = context.Background()
)

func show(step string, result any, err error) {
	line := map[string]any{"step": step}
	if err != nil {
		line["error"] = fmt.Sprintf("%T: %v", err, err)
	} else {
		line["result"] = result
	}
	text, _ := json.Marshal(line)
	fmt.Println(string(text))
}

func main() {
	if err := json.NewDecoder(os.Stdin).Decode(&day); err != nil {
		panic(err)
	}
	raw, err := rpc.Dial(day.URL)
	if err != nil {
		show(os.Args[1], nil, err)
		return
	}
	client := ethclient.NewClient(raw)
	switch os.Args[1] {
	case "reject":
		_, err := client.CallContract(ctx, ethereum.CallMsg{To: &day.Counter, Data: hexutil.MustDecode(day.Input)}, nil)
		show("reject", "no error", err)
	case "limit":
		for range 4 {
			balance, err := client.BalanceAt(ctx, day.Counter, nil)
			show("call", balance, err)
		}
	case "close":
		err := read(client, 15*time.Second)
		show("open", nil, err)
		for ; err == nil; time.Sleep(100 * time.Millisecond) {
			err = read(client, 15*time.Second)
		}
		show("close", nil, err)
	case "restart":
		restart(client)
	default:
		live(client, raw)
	}
}

func read(client *ethclient.Client, timeout time.Duration) error {
	limited, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	_, err := client.BalanceAt(limited, day.Counter, nil)
	return err
}

// restart calls until one fails, then until one succeeds.
func restart(client *ethclient.Client) {
	show("open", nil, read(client, 5*time.Second))
	for read(client, 5*time.Second) == nil {
		time.Sleep(100 * time.Millisecond)
	}
	show("down", nil, nil)
	for start := time.Now(); time.Since(start) < 30*time.Second; time.Sleep(100 * time.Millisecond) {
		if read(client, 5*time.Second) == nil {
			show("again", nil, nil)
			return
		}
	}
	show("timeout", nil, nil)
}

func live(client *ethclient.Client, raw *rpc.Client) {
	key, _ := crypto.HexToECDSA(strings.TrimPrefix(day.PrivateKey, "0x"))
	from := crypto.PubkeyToAddress(key.PublicKey)
	chain := big.NewInt(day.ChainID)
	tip, fee, gas := big.NewInt(1e9), big.NewInt(20e9), uint64(300_000)
	geth := gethclient.New(raw)

	receiptOf := func(hash common.Hash) ([]any, error) {
		for start := time.Now(); ; time.Sleep(50 * time.Millisecond) {
			receipt, err := client.TransactionReceipt(ctx, hash)
			if err == nil {
				transaction, _, err := client.TransactionByHash(ctx, hash)
				if err != nil {
					return nil, err
				}
				return []any{receipt.Status, receipt.Type, transaction.Type(), len(receipt.Logs)}, nil
			}
			if !errors.Is(err, ethereum.NotFound) || time.Since(start) > 30*time.Second {
				return nil, err
			}
		}
	}
	send := func(make func(nonce uint64) types.TxData) ([]any, error) {
		nonce, err := client.PendingNonceAt(ctx, from)
		if err != nil {
			return nil, err
		}
		signed := types.MustSignNewTx(key, types.LatestSignerForChainID(chain), make(nonce))
		if err := client.SendTransaction(ctx, signed); err != nil {
			return nil, err
		}
		return receiptOf(signed.Hash())
	}
	dynamic := func(nonce uint64) types.TxData {
		return &types.DynamicFeeTx{ChainID: chain, Nonce: nonce, GasTipCap: tip, GasFeeCap: fee, Gas: gas, To: &day.Counter, Data: day.Set}
	}
	step := func(name string, run func() (any, error)) {
		result, err := run()
		show(name, result, err)
	}

	step("connect", func() (any, error) {
		id, err := client.ChainID(ctx)
		if err != nil {
			return nil, err
		}
		network, err := client.NetworkID(ctx)
		return []any{id, network}, err
	})
	step("reads", func() (any, error) {
		if _, err := send(dynamic); err != nil {
			return nil, err
		}
		balance, err := client.BalanceAt(ctx, from, nil)
		if err != nil {
			return nil, err
		}
		code, err := client.CodeAt(ctx, day.Counter, nil)
		if err != nil {
			return nil, err
		}
		storage, err := client.StorageAt(ctx, day.Counter, common.Hash{}, nil)
		if err != nil {
			return nil, err
		}
		number, err := client.CallContract(ctx, ethereum.CallMsg{To: &day.Counter, Data: day.Number}, nil)
		if err != nil {
			return nil, err
		}
		block, err := client.BlockByNumber(ctx, nil)
		if err != nil {
			return nil, err
		}
		logs, err := client.FilterLogs(ctx, ethereum.FilterQuery{FromBlock: block.Number(), Addresses: []common.Address{day.Counter}})
		return []any{balance.Sign(), len(code), hexutil.Bytes(storage), hexutil.Bytes(number), len(block.Transactions()), len(logs)}, err
	})
	step("estimates", func() (any, error) {
		return client.EstimateGas(ctx, ethereum.CallMsg{From: from, To: &day.Counter, Data: day.Set})
	})
	step("legacy", func() (any, error) {
		return send(func(nonce uint64) types.TxData {
			return &types.LegacyTx{Nonce: nonce, GasPrice: fee, Gas: gas, To: &day.Counter, Data: day.Set}
		})
	})
	step("access_list", func() (any, error) {
		message := ethereum.CallMsg{From: from, To: &day.Counter, Data: day.Set}
		list, _, _, err := geth.CreateAccessList(ctx, message)
		if err != nil {
			return nil, err
		}
		return send(func(nonce uint64) types.TxData {
			return &types.AccessListTx{ChainID: chain, Nonce: nonce, GasPrice: fee, Gas: gas, To: &day.Counter, Data: day.Set, AccessList: *list}
		})
	})
	step("dynamic_fee", func() (any, error) { return send(dynamic) })
	step("blobs", func() (any, error) {
		var transaction types.Transaction
		if err := transaction.UnmarshalBinary(day.BlobTransaction); err != nil {
			return nil, err
		}
		if err := client.SendTransaction(ctx, &transaction); err != nil {
			return nil, err
		}
		return receiptOf(transaction.Hash())
	})
	step("set_code", func() (any, error) {
		delegate, _ := crypto.GenerateKey()
		authorization, err := types.SignSetCode(delegate, types.SetCodeAuthorization{ChainID: *uint256.MustFromBig(chain), Address: day.Counter})
		if err != nil {
			return nil, err
		}
		return send(func(nonce uint64) types.TxData {
			return &types.SetCodeTx{ChainID: uint256.MustFromBig(chain), Nonce: nonce, GasTipCap: uint256.MustFromBig(tip), GasFeeCap: uint256.MustFromBig(fee),
				Gas: gas, To: day.Counter, Data: day.Set, AuthList: []types.SetCodeAuthorization{authorization}}
		})
	})
	step("reverts", func() (any, error) {
		ends := []any{}
		for _, data := range day.Reverts {
			_, err := client.CallContract(ctx, ethereum.CallMsg{To: &day.Gate, Data: data}, nil)
			revert, isRevert := ethclient.RevertErrorData(err)
			ends = append(ends, fmt.Sprintf("%v %v %v", err, isRevert, hexutil.Bytes(revert)))
		}
		return ends, nil
	})
	step("filters", func() (any, error) {
		var id string
		if err := raw.CallContext(ctx, &id, "eth_newFilter", map[string]any{"address": day.Counter}); err != nil {
			return nil, err
		}
		if _, err := send(dynamic); err != nil {
			return nil, err
		}
		var logs []types.Log
		// The gateway polls the head.
		for start := time.Now(); len(logs) == 0 && time.Since(start) < 30*time.Second; time.Sleep(100 * time.Millisecond) {
			if err := raw.CallContext(ctx, &logs, "eth_getFilterChanges", id); err != nil {
				return nil, err
			}
		}
		var isRemoved bool
		err := raw.CallContext(ctx, &isRemoved, "eth_uninstallFilter", id)
		return []any{len(logs) > 0, isRemoved}, err
	})
	step("subscriptions", func() (any, error) {
		return subscribe(client, geth, func() error { _, err := send(dynamic); return err })
	})
	step("batches", func() (any, error) {
		var code hexutil.Bytes
		var storage common.Hash
		batch := []rpc.BatchElem{
			{Method: "eth_getCode", Args: []any{day.Counter, "latest"}, Result: &code},
			{Method: "eth_getStorageAt", Args: []any{day.Counter, "0x0", "latest"}, Result: &storage},
			{Method: "eth_noSuchMethod", Result: &storage},
		}
		if err := raw.BatchCallContext(ctx, batch); err != nil {
			return nil, err
		}
		return []any{len(code), storage, fmt.Sprint(batch[2].Error)}, nil
	})
	step("oversized_batch", func() (any, error) {
		batch := make([]rpc.BatchElem, 1_100)
		for index := range batch {
			batch[index] = rpc.BatchElem{Method: "eth_chainId", Result: new(string)}
		}
		err := raw.BatchCallContext(ctx, batch)
		return []any{fmt.Sprint(err), fmt.Sprint(batch[0].Error), fmt.Sprint(batch[1_099].Error)}, nil
	})
	step("pending_and_missing_blocks", func() (any, error) {
		latest, err := client.BlockNumber(ctx)
		if err != nil {
			return nil, err
		}
		pending, err := client.HeaderByNumber(ctx, big.NewInt(int64(rpc.PendingBlockNumber)))
		if err != nil {
			return nil, err
		}
		_, missing := client.BlockByNumber(ctx, big.NewInt(1e9))
		_, _, unknown := client.TransactionByHash(ctx, common.Hash{1})
		count, err := client.PendingTransactionCount(ctx)
		return []any{pending.Number.Uint64() == latest+1, fmt.Sprint(missing), fmt.Sprint(unknown), count}, err
	})
	step("fee_history", func() (any, error) {
		history, err := client.FeeHistory(ctx, 2, nil, []float64{10, 90})
		if err != nil {
			return nil, err
		}
		return []any{len(history.BaseFee), len(history.Reward), len(history.GasUsedRatio)}, nil
	})
	step("proofs", func() (any, error) {
		proof, err := geth.GetProof(ctx, day.Counter, []string{"0x0"}, nil)
		if err != nil {
			return nil, err
		}
		return []any{len(proof.AccountProof) > 0, len(proof.StorageProof), proof.StorageProof[0].Value}, nil
	})
	step("uncles", func() (any, error) {
		var count hexutil.Uint
		err := raw.CallContext(ctx, &count, "eth_getUncleCountByBlockNumber", "latest")
		return count, err
	})
	step("opened_namespaces", func() (any, error) {
		var status map[string]hexutil.Uint
		if err := raw.CallContext(ctx, &status, "txpool_status"); err != nil {
			return nil, err
		}
		var header hexutil.Bytes
		err := raw.CallContext(ctx, &header, "debug_getRawHeader", "0x1")
		return []any{status, len(header)}, err
	})
}

func subscribe(client *ethclient.Client, geth *gethclient.Client, send func() error) (any, error) {
	if !day.IsSocket {
		return nil, nil
	}
	heads, logs, hashes := make(chan *types.Header, 100), make(chan types.Log, 100), make(chan common.Hash, 100)
	one, err := client.SubscribeNewHead(ctx, heads)
	if err != nil {
		return nil, err
	}
	defer one.Unsubscribe()
	two, err := client.SubscribeFilterLogs(ctx, ethereum.FilterQuery{Addresses: []common.Address{day.Counter}}, logs)
	if err != nil {
		return nil, err
	}
	defer two.Unsubscribe()
	three, err := geth.SubscribePendingTransactions(ctx, hashes)
	if err != nil {
		return nil, err
	}
	defer three.Unsubscribe()
	if err := send(); err != nil {
		return nil, err
	}
	timeout := time.After(20 * time.Second)
	var head, log, hash int
	for head == 0 || log == 0 || hash == 0 {
		select {
		case <-heads:
			head++
		case <-logs:
			log++
		case <-hashes:
			hash++
		case <-timeout:
			return nil, fmt.Errorf("timeout after %d heads, %d logs, %d hashes", head, log, hash)
		}
	}
	return []any{head, log, hash}, nil
}
