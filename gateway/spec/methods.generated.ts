// Generated from schemas/methods and schemas/types by `npm run generate`. Do not edit.
import type { MethodSpec } from './method-spec.ts';

export const methods: readonly MethodSpec[] = [
  {
    "name": "eth_getStorageAt",
    "namespace": "eth",
    "nullable": false,
    "reverts": false,
    "resultKind": "string",
    "padResult": 32,
    "hashParams": [
      2
    ],
    "contractAt": {
      "param": 0
    }
  },
  {
    "name": "eth_getBlockByHash",
    "namespace": "eth",
    "nullable": true,
    "reverts": false,
    "resultKind": "object",
    "identity": "hash",
    "hashParams": [
      0
    ],
    "shape": {
      "fill": [
        "number",
        "hash",
        "parentHash",
        "nonce",
        "sha3Uncles",
        "logsBloom",
        "transactionsRoot",
        "stateRoot",
        "receiptsRoot",
        "miner",
        "difficulty",
        "totalDifficulty",
        "extraData",
        "size",
        "gasLimit",
        "gasUsed",
        "timestamp",
        "transactions",
        "uncles",
        "mixHash"
      ],
      "pad": {},
      "rename": {},
      "nested": {
        "transactions": {
          "fill": [
            "blockHash",
            "blockNumber",
            "from",
            "gas",
            "gasPrice",
            "hash",
            "input",
            "nonce",
            "r",
            "s",
            "v",
            "to",
            "transactionIndex",
            "type",
            "value"
          ],
          "pad": {
            "r": 32,
            "s": 32
          },
          "rename": {
            "chainId": "chainID"
          },
          "nested": {}
        }
      }
    }
  },
  {
    "name": "eth_getUncleByBlockHashAndIndex",
    "namespace": "eth",
    "nullable": true,
    "reverts": false,
    "resultKind": "object",
    "hashParams": [
      0
    ],
    "shape": {
      "fill": [
        "number",
        "hash",
        "parentHash",
        "nonce",
        "sha3Uncles",
        "logsBloom",
        "transactionsRoot",
        "stateRoot",
        "receiptsRoot",
        "miner",
        "difficulty",
        "totalDifficulty",
        "extraData",
        "size",
        "gasLimit",
        "gasUsed",
        "timestamp",
        "uncles",
        "mixHash"
      ],
      "pad": {},
      "rename": {},
      "nested": {}
    }
  },
  {
    "name": "eth_getTransactionReceipt",
    "namespace": "eth",
    "nullable": true,
    "reverts": false,
    "resultKind": "object",
    "identity": "transactionHash",
    "hashParams": [
      0
    ],
    "shape": {
      "fill": [
        "blockHash",
        "blockNumber",
        "contractAddress",
        "cumulativeGasUsed",
        "effectiveGasPrice",
        "from",
        "gasUsed",
        "logs",
        "logsBloom",
        "to",
        "transactionHash",
        "transactionIndex",
        "type"
      ],
      "pad": {},
      "rename": {},
      "nested": {
        "logs": {
          "fill": [
            "address",
            "blockHash",
            "blockNumber",
            "data",
            "logIndex",
            "removed",
            "topics",
            "transactionHash",
            "transactionIndex"
          ],
          "pad": {},
          "rename": {},
          "nested": {}
        }
      }
    }
  },
  {
    "name": "eth_estimateGas",
    "namespace": "eth",
    "nullable": false,
    "reverts": true,
    "resultKind": "string",
    "hashParams": [
      1
    ],
    "gasCapParam": 0,
    "contractAt": {
      "param": 0,
      "field": "to"
    },
    "weight": 2
  },
  {
    "name": "eth_getTransactionByHash",
    "namespace": "eth",
    "nullable": true,
    "reverts": false,
    "resultKind": "object",
    "identity": "hash",
    "hashParams": [
      0
    ],
    "shape": {
      "fill": [
        "blockHash",
        "blockNumber",
        "from",
        "gas",
        "gasPrice",
        "hash",
        "input",
        "nonce",
        "r",
        "s",
        "v",
        "to",
        "transactionIndex",
        "type",
        "value"
      ],
      "pad": {
        "r": 32,
        "s": 32
      },
      "rename": {
        "chainId": "chainID"
      },
      "nested": {}
    }
  },
  {
    "name": "eth_chainId",
    "namespace": "eth",
    "answer": "local",
    "nullable": false,
    "reverts": false,
    "resultKind": "string",
    "hashParams": []
  },
  {
    "name": "eth_accounts",
    "namespace": "eth",
    "answer": "local",
    "nullable": false,
    "reverts": false,
    "resultKind": "array",
    "hashParams": []
  },
  {
    "name": "net_version",
    "namespace": "net",
    "answer": "local",
    "nullable": false,
    "reverts": false,
    "resultKind": "string",
    "hashParams": []
  },
  {
    "name": "net_listening",
    "namespace": "net",
    "answer": "local",
    "nullable": false,
    "reverts": false,
    "resultKind": "boolean",
    "hashParams": []
  },
  {
    "name": "web3_clientVersion",
    "namespace": "web3",
    "answer": "local",
    "nullable": false,
    "reverts": false,
    "resultKind": "string",
    "hashParams": []
  },
  {
    "name": "zks_estimateFee",
    "namespace": "zks",
    "nullable": false,
    "reverts": true,
    "resultKind": "object",
    "hashParams": [],
    "contractAt": {
      "param": 0,
      "field": "to"
    },
    "shape": {
      "fill": [
        "gas_limit",
        "gas_per_pubdata_limit",
        "max_fee_per_gas",
        "max_priority_fee_per_gas"
      ],
      "pad": {},
      "rename": {},
      "nested": {}
    }
  }
];
