// Generated from schemas/methods and schemas/types by `npm run generate`. Do not edit.
import type { MethodGroup, MethodSpec } from './method-spec.ts';

export const methods: readonly MethodSpec[] = [
  {
    "name": "eth_getStorageAt",
    "namespace": "eth",
    "group": "lookup",
    "nullable": false,
    "reverts": false,
    "resultKinds": [
      "string"
    ],
    "resultPattern": "^0x[0-9a-fA-F]{64}$",
    "padResult": 32,
    "storageParams": [
      1
    ],
    "hashParams": [
      2
    ],
    "contractAt": {
      "param": 0
    },
    "blockAt": {
      "param": 2,
      "readsState": true
    },
    "cache": {
      "param": 2
    }
  },
  {
    "name": "eth_getBlockByHash",
    "namespace": "eth",
    "group": "lookup",
    "nullable": true,
    "reverts": false,
    "looksUpHash": true,
    "resultKinds": [
      "object"
    ],
    "identity": [
      {
        "field": "hash",
        "param": 0,
        "kind": "hash"
      }
    ],
    "details": {
      "field": "transactions",
      "param": 1
    },
    "hashParams": [
      0
    ],
    "cache": {
      "param": 0
    },
    "resultType": "Block",
    "shape": {
      "type": "Block",
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
      "demand": [],
      "quantities": [
        "number",
        "difficulty",
        "totalDifficulty",
        "size",
        "gasLimit",
        "gasUsed",
        "timestamp",
        "baseFeePerGas",
        "blobGasUsed",
        "excessBlobGas",
        "slotNumber"
      ],
      "addresses": [
        "miner"
      ],
      "rename": {},
      "nested": {
        "withdrawals": {
          "type": "Withdrawal",
          "fill": [],
          "demand": [],
          "quantities": [
            "index",
            "validatorIndex",
            "amount"
          ],
          "addresses": [
            "address"
          ],
          "rename": {},
          "nested": {},
          "orHashes": []
        },
        "transactions": {
          "type": "Transaction",
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
          "demand": [],
          "quantities": [
            "blockNumber",
            "chainId",
            "gas",
            "gasPrice",
            "maxPriorityFeePerGas",
            "maxFeePerGas",
            "nonce",
            "r",
            "s",
            "v",
            "transactionIndex",
            "type",
            "value",
            "yParity",
            "maxFeePerBlobGas",
            "blockTimestamp"
          ],
          "addresses": [
            "from",
            "to"
          ],
          "rename": {
            "chainId": "chainID"
          },
          "nested": {
            "authorizationList": {
              "type": "Authorization",
              "fill": [],
              "demand": [],
              "quantities": [
                "chainId",
                "nonce",
                "yParity",
                "r",
                "s"
              ],
              "addresses": [
                "address"
              ],
              "rename": {},
              "nested": {},
              "orHashes": []
            }
          },
          "orHashes": []
        }
      },
      "orHashes": [
        "transactions"
      ]
    }
  },
  {
    "name": "eth_getUncleByBlockHashAndIndex",
    "namespace": "eth",
    "group": "lookup",
    "nullable": true,
    "reverts": false,
    "looksUpHash": true,
    "resultIs": "uncle",
    "nullWhenUnsupported": true,
    "resultKinds": [
      "object"
    ],
    "hashParams": [
      0
    ],
    "cache": {
      "param": 0
    },
    "resultType": "Uncle",
    "shape": {
      "type": "Uncle",
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
      "demand": [],
      "quantities": [
        "number",
        "difficulty",
        "totalDifficulty",
        "size",
        "gasLimit",
        "gasUsed",
        "timestamp",
        "baseFeePerGas",
        "blobGasUsed",
        "excessBlobGas",
        "slotNumber"
      ],
      "addresses": [
        "miner"
      ],
      "rename": {},
      "nested": {
        "withdrawals": {
          "type": "Withdrawal",
          "fill": [],
          "demand": [],
          "quantities": [
            "index",
            "validatorIndex",
            "amount"
          ],
          "addresses": [
            "address"
          ],
          "rename": {},
          "nested": {},
          "orHashes": []
        }
      },
      "orHashes": []
    }
  },
  {
    "name": "eth_getTransactionReceipt",
    "namespace": "eth",
    "group": "lookup",
    "nullable": true,
    "reverts": false,
    "looksUpHash": true,
    "tracks": {
      "of": "transaction",
      "param": 0
    },
    "resultKinds": [
      "object"
    ],
    "identity": [
      {
        "field": "transactionHash",
        "param": 0,
        "kind": "hash"
      }
    ],
    "hashParams": [
      0
    ],
    "cache": "result",
    "resultType": "Receipt",
    "shape": {
      "type": "Receipt",
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
      "demand": [],
      "quantities": [
        "blockNumber",
        "cumulativeGasUsed",
        "effectiveGasPrice",
        "gasUsed",
        "transactionIndex",
        "type",
        "blobGasUsed",
        "blobGasPrice",
        "blockTimestamp"
      ],
      "addresses": [
        "contractAddress",
        "from",
        "to"
      ],
      "rename": {},
      "nested": {
        "logs": {
          "type": "Log",
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
          "demand": [],
          "quantities": [
            "blockNumber",
            "logIndex",
            "transactionIndex",
            "blockTimestamp"
          ],
          "addresses": [
            "address"
          ],
          "rename": {},
          "nested": {},
          "orHashes": []
        }
      },
      "orHashes": []
    }
  },
  {
    "name": "eth_estimateGas",
    "namespace": "eth",
    "group": "execution",
    "nullable": false,
    "reverts": true,
    "omitsPayload": true,
    "resultIs": "gas-estimate",
    "resultKinds": [
      "string"
    ],
    "resultPattern": "^0x[0-9a-fA-F]{1,64}$",
    "resultIsQuantity": true,
    "hashParams": [
      1
    ],
    "gasAt": [
      {
        "param": 0,
        "path": [
          "gas"
        ]
      },
      {
        "param": 3,
        "path": [
          "gasLimit"
        ]
      }
    ],
    "contractAt": {
      "param": 0,
      "field": "to",
      "overrides": 2
    },
    "blockAt": {
      "param": 1,
      "readsState": true
    },
    "requestUnits": "2 + overrides / 10",
    "counts": [
      {
        "name": "overrides",
        "type": "StateOverride",
        "param": 2
      }
    ]
  },
  {
    "name": "eth_getTransactionByHash",
    "namespace": "eth",
    "group": "lookup",
    "nullable": true,
    "reverts": false,
    "looksUpHash": true,
    "tracks": {
      "of": "transaction",
      "param": 0
    },
    "resultKinds": [
      "object"
    ],
    "identity": [
      {
        "field": "hash",
        "param": 0,
        "kind": "hash"
      }
    ],
    "hashParams": [
      0
    ],
    "cache": "result",
    "resultType": "Transaction",
    "shape": {
      "type": "Transaction",
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
      "demand": [],
      "quantities": [
        "blockNumber",
        "chainId",
        "gas",
        "gasPrice",
        "maxPriorityFeePerGas",
        "maxFeePerGas",
        "nonce",
        "r",
        "s",
        "v",
        "transactionIndex",
        "type",
        "value",
        "yParity",
        "maxFeePerBlobGas",
        "blockTimestamp"
      ],
      "addresses": [
        "from",
        "to"
      ],
      "rename": {
        "chainId": "chainID"
      },
      "nested": {
        "authorizationList": {
          "type": "Authorization",
          "fill": [],
          "demand": [],
          "quantities": [
            "chainId",
            "nonce",
            "yParity",
            "r",
            "s"
          ],
          "addresses": [
            "address"
          ],
          "rename": {},
          "nested": {},
          "orHashes": []
        }
      },
      "orHashes": []
    }
  },
  {
    "name": "eth_chainId",
    "namespace": "eth",
    "group": "lookup",
    "handledBy": "local",
    "nullable": false,
    "reverts": false,
    "resultKinds": [
      "string"
    ],
    "resultPattern": "^0x[0-9a-fA-F]{1,64}$",
    "resultIsQuantity": true,
    "hashParams": [],
    "requestUnits": "0.1"
  },
  {
    "name": "eth_accounts",
    "namespace": "eth",
    "group": "list",
    "handledBy": "local",
    "nullable": false,
    "reverts": false,
    "resultKinds": [
      "array"
    ],
    "hashParams": [],
    "requestUnits": "0.1"
  },
  {
    "name": "eth_blockNumber",
    "namespace": "eth",
    "group": "lookup",
    "nullable": false,
    "reverts": false,
    "resultIs": "head-number",
    "resultKinds": [
      "string"
    ],
    "resultPattern": "^0x[0-9a-fA-F]{1,64}$",
    "resultIsQuantity": true,
    "hashParams": [],
    "cache": "head"
  },
  {
    "name": "eth_getBlockByNumber",
    "namespace": "eth",
    "group": "lookup",
    "nullable": true,
    "reverts": false,
    "resultKinds": [
      "object"
    ],
    "identity": [
      {
        "field": "number",
        "param": 0,
        "kind": "quantity"
      }
    ],
    "details": {
      "field": "transactions",
      "param": 1
    },
    "hashParams": [],
    "blockAt": {
      "param": 0
    },
    "cache": {
      "param": 0
    },
    "resultType": "Block",
    "shape": {
      "type": "Block",
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
      "demand": [],
      "quantities": [
        "number",
        "difficulty",
        "totalDifficulty",
        "size",
        "gasLimit",
        "gasUsed",
        "timestamp",
        "baseFeePerGas",
        "blobGasUsed",
        "excessBlobGas",
        "slotNumber"
      ],
      "addresses": [
        "miner"
      ],
      "rename": {},
      "nested": {
        "withdrawals": {
          "type": "Withdrawal",
          "fill": [],
          "demand": [],
          "quantities": [
            "index",
            "validatorIndex",
            "amount"
          ],
          "addresses": [
            "address"
          ],
          "rename": {},
          "nested": {},
          "orHashes": []
        },
        "transactions": {
          "type": "Transaction",
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
          "demand": [],
          "quantities": [
            "blockNumber",
            "chainId",
            "gas",
            "gasPrice",
            "maxPriorityFeePerGas",
            "maxFeePerGas",
            "nonce",
            "r",
            "s",
            "v",
            "transactionIndex",
            "type",
            "value",
            "yParity",
            "maxFeePerBlobGas",
            "blockTimestamp"
          ],
          "addresses": [
            "from",
            "to"
          ],
          "rename": {
            "chainId": "chainID"
          },
          "nested": {
            "authorizationList": {
              "type": "Authorization",
              "fill": [],
              "demand": [],
              "quantities": [
                "chainId",
                "nonce",
                "yParity",
                "r",
                "s"
              ],
              "addresses": [
                "address"
              ],
              "rename": {},
              "nested": {},
              "orHashes": []
            }
          },
          "orHashes": []
        }
      },
      "orHashes": [
        "transactions"
      ]
    }
  },
  {
    "name": "eth_getBalance",
    "namespace": "eth",
    "group": "lookup",
    "nullable": false,
    "reverts": false,
    "resultKinds": [
      "string"
    ],
    "resultPattern": "^0x[0-9a-fA-F]{1,64}$",
    "resultIsQuantity": true,
    "hashParams": [
      1
    ],
    "contractAt": {
      "param": 0
    },
    "blockAt": {
      "param": 1,
      "readsState": true
    },
    "defaultsToLatest": 1,
    "cache": {
      "param": 1
    }
  },
  {
    "name": "eth_getCode",
    "namespace": "eth",
    "group": "lookup",
    "nullable": false,
    "reverts": false,
    "resultKinds": [
      "string"
    ],
    "resultPattern": "^0x(?:[0-9a-fA-F]{2})*$",
    "hashParams": [
      1
    ],
    "contractAt": {
      "param": 0
    },
    "blockAt": {
      "param": 1,
      "readsState": true
    },
    "defaultsToLatest": 1,
    "cache": {
      "param": 1
    }
  },
  {
    "name": "eth_getTransactionCount",
    "namespace": "eth",
    "group": "lookup",
    "nullable": false,
    "reverts": false,
    "tracks": {
      "of": "sender",
      "param": 0
    },
    "resultKinds": [
      "string"
    ],
    "resultPattern": "^0x[0-9a-fA-F]{1,64}$",
    "resultIsQuantity": true,
    "hashParams": [
      1
    ],
    "contractAt": {
      "param": 0
    },
    "blockAt": {
      "param": 1,
      "readsState": true
    },
    "defaultsToLatest": 1,
    "cache": {
      "param": 1
    }
  },
  {
    "name": "eth_call",
    "namespace": "eth",
    "group": "execution",
    "nullable": false,
    "reverts": true,
    "resultKinds": [
      "string"
    ],
    "resultPattern": "^0x(?:[0-9a-fA-F]{2})*$",
    "hashParams": [
      1
    ],
    "gasAt": [
      {
        "param": 0,
        "path": [
          "gas"
        ]
      },
      {
        "param": 3,
        "path": [
          "gasLimit"
        ]
      }
    ],
    "contractAt": {
      "param": 0,
      "field": "to",
      "overrides": 2
    },
    "blockAt": {
      "param": 1,
      "readsState": true
    },
    "defaultsToLatest": 1,
    "requestUnits": "1 + overrides / 10",
    "counts": [
      {
        "name": "overrides",
        "type": "StateOverride",
        "param": 2
      }
    ],
    "cache": {
      "param": 1
    }
  },
  {
    "name": "eth_createAccessList",
    "namespace": "eth",
    "group": "execution",
    "nullable": false,
    "reverts": true,
    "omitsPayload": true,
    "resultKinds": [
      "object"
    ],
    "hashParams": [
      1
    ],
    "gasAt": [
      {
        "param": 0,
        "path": [
          "gas"
        ]
      }
    ],
    "contractAt": {
      "param": 0,
      "field": "to",
      "overrides": 2
    },
    "blockAt": {
      "param": 1,
      "readsState": true
    },
    "requestUnits": "2 + overrides / 10",
    "counts": [
      {
        "name": "overrides",
        "type": "StateOverride",
        "param": 2
      }
    ],
    "resultType": "AccessListResult"
  },
  {
    "name": "eth_simulateV1",
    "namespace": "eth",
    "group": "list",
    "nullable": false,
    "reverts": false,
    "executes": true,
    "resultKinds": [
      "array"
    ],
    "hashParams": [
      1
    ],
    "gasAt": [
      {
        "param": 0,
        "path": [
          "blockStateCalls",
          "*",
          "blockOverrides",
          "gasLimit"
        ]
      },
      {
        "param": 0,
        "path": [
          "blockStateCalls",
          "*",
          "calls",
          "*",
          "gas"
        ]
      }
    ],
    "contractAt": {
      "param": 0,
      "field": "blockStateCalls"
    },
    "blockAt": {
      "param": 1,
      "readsState": true
    },
    "requestUnits": "1 + 2 * calls + overrides / 10",
    "counts": [
      {
        "name": "calls",
        "type": "Simulation",
        "param": 0
      },
      {
        "name": "overrides",
        "type": "Simulation",
        "param": 0
      }
    ]
  },
  {
    "name": "eth_gasPrice",
    "namespace": "eth",
    "group": "lookup",
    "nullable": false,
    "reverts": false,
    "resultKinds": [
      "string"
    ],
    "resultPattern": "^0x[0-9a-fA-F]{1,64}$",
    "resultIsQuantity": true,
    "hashParams": [],
    "cache": "head"
  },
  {
    "name": "eth_maxPriorityFeePerGas",
    "namespace": "eth",
    "group": "lookup",
    "nullable": false,
    "reverts": false,
    "resultKinds": [
      "string"
    ],
    "resultPattern": "^0x[0-9a-fA-F]{1,64}$",
    "resultIsQuantity": true,
    "hashParams": [],
    "cache": "head"
  },
  {
    "name": "eth_blobBaseFee",
    "namespace": "eth",
    "group": "lookup",
    "nullable": false,
    "reverts": false,
    "resultKinds": [
      "string"
    ],
    "resultPattern": "^0x[0-9a-fA-F]{1,64}$",
    "resultIsQuantity": true,
    "hashParams": [],
    "cache": "head"
  },
  {
    "name": "eth_feeHistory",
    "namespace": "eth",
    "group": "lookup",
    "nullable": false,
    "reverts": false,
    "resultKinds": [
      "object"
    ],
    "hashParams": [],
    "blockAt": {
      "param": 1
    },
    "cache": {
      "param": 1
    },
    "isUnaudited": true,
    "resultType": "FeeHistory"
  },
  {
    "name": "eth_sendRawTransaction",
    "namespace": "eth",
    "group": "execution",
    "nullable": false,
    "reverts": false,
    "sends": true,
    "resultKinds": [
      "string"
    ],
    "resultPattern": "^0x[0-9a-fA-F]{64}$",
    "hashParams": []
  },
  {
    "name": "eth_getLogs",
    "namespace": "eth",
    "group": "list",
    "nullable": false,
    "reverts": false,
    "resultIs": "logs",
    "resultKinds": [
      "array"
    ],
    "identity": [
      {
        "field": "blockHash",
        "param": 0,
        "kind": "hash"
      }
    ],
    "hashParams": [
      0
    ],
    "contractAt": {
      "param": 0,
      "field": "address"
    },
    "blockAt": {
      "param": 0
    },
    "splits": 0,
    "requestUnits": "min(2 + blocks / 100, 100)",
    "counts": [
      {
        "name": "blocks",
        "type": "LogFilter",
        "param": 0
      },
      {
        "name": "addresses",
        "type": "LogFilter",
        "param": 0
      }
    ],
    "resultType": "Log",
    "shape": {
      "type": "Log",
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
      "demand": [],
      "quantities": [
        "blockNumber",
        "logIndex",
        "transactionIndex",
        "blockTimestamp"
      ],
      "addresses": [
        "address"
      ],
      "rename": {},
      "nested": {},
      "orHashes": []
    }
  },
  {
    "name": "eth_getBlockReceipts",
    "namespace": "eth",
    "group": "list",
    "nullable": true,
    "reverts": false,
    "resultIs": "block-objects",
    "resultKinds": [
      "array"
    ],
    "identity": [
      {
        "field": "blockHash",
        "param": 0,
        "kind": "hash"
      },
      {
        "field": "blockNumber",
        "param": 0,
        "kind": "quantity"
      }
    ],
    "hashParams": [
      0
    ],
    "blockAt": {
      "param": 0
    },
    "requestUnits": "10",
    "cache": {
      "param": 0
    },
    "resultType": "Receipt",
    "shape": {
      "type": "Receipt",
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
      "demand": [],
      "quantities": [
        "blockNumber",
        "cumulativeGasUsed",
        "effectiveGasPrice",
        "gasUsed",
        "transactionIndex",
        "type",
        "blobGasUsed",
        "blobGasPrice",
        "blockTimestamp"
      ],
      "addresses": [
        "contractAddress",
        "from",
        "to"
      ],
      "rename": {},
      "nested": {
        "logs": {
          "type": "Log",
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
          "demand": [],
          "quantities": [
            "blockNumber",
            "logIndex",
            "transactionIndex",
            "blockTimestamp"
          ],
          "addresses": [
            "address"
          ],
          "rename": {},
          "nested": {},
          "orHashes": []
        }
      },
      "orHashes": []
    }
  },
  {
    "name": "eth_getTransactionByBlockHashAndIndex",
    "namespace": "eth",
    "group": "lookup",
    "nullable": true,
    "reverts": false,
    "looksUpHash": true,
    "resultKinds": [
      "object"
    ],
    "identity": [
      {
        "field": "blockHash",
        "param": 0,
        "kind": "hash"
      },
      {
        "field": "transactionIndex",
        "param": 1,
        "kind": "quantity"
      }
    ],
    "hashParams": [
      0
    ],
    "cache": {
      "param": 0
    },
    "resultType": "Transaction",
    "shape": {
      "type": "Transaction",
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
      "demand": [],
      "quantities": [
        "blockNumber",
        "chainId",
        "gas",
        "gasPrice",
        "maxPriorityFeePerGas",
        "maxFeePerGas",
        "nonce",
        "r",
        "s",
        "v",
        "transactionIndex",
        "type",
        "value",
        "yParity",
        "maxFeePerBlobGas",
        "blockTimestamp"
      ],
      "addresses": [
        "from",
        "to"
      ],
      "rename": {
        "chainId": "chainID"
      },
      "nested": {
        "authorizationList": {
          "type": "Authorization",
          "fill": [],
          "demand": [],
          "quantities": [
            "chainId",
            "nonce",
            "yParity",
            "r",
            "s"
          ],
          "addresses": [
            "address"
          ],
          "rename": {},
          "nested": {},
          "orHashes": []
        }
      },
      "orHashes": []
    }
  },
  {
    "name": "eth_getTransactionByBlockNumberAndIndex",
    "namespace": "eth",
    "group": "lookup",
    "nullable": true,
    "reverts": false,
    "resultKinds": [
      "object"
    ],
    "identity": [
      {
        "field": "blockNumber",
        "param": 0,
        "kind": "quantity"
      },
      {
        "field": "transactionIndex",
        "param": 1,
        "kind": "quantity"
      }
    ],
    "hashParams": [],
    "blockAt": {
      "param": 0
    },
    "cache": {
      "param": 0
    },
    "resultType": "Transaction",
    "shape": {
      "type": "Transaction",
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
      "demand": [],
      "quantities": [
        "blockNumber",
        "chainId",
        "gas",
        "gasPrice",
        "maxPriorityFeePerGas",
        "maxFeePerGas",
        "nonce",
        "r",
        "s",
        "v",
        "transactionIndex",
        "type",
        "value",
        "yParity",
        "maxFeePerBlobGas",
        "blockTimestamp"
      ],
      "addresses": [
        "from",
        "to"
      ],
      "rename": {
        "chainId": "chainID"
      },
      "nested": {
        "authorizationList": {
          "type": "Authorization",
          "fill": [],
          "demand": [],
          "quantities": [
            "chainId",
            "nonce",
            "yParity",
            "r",
            "s"
          ],
          "addresses": [
            "address"
          ],
          "rename": {},
          "nested": {},
          "orHashes": []
        }
      },
      "orHashes": []
    }
  },
  {
    "name": "eth_getBlockTransactionCountByHash",
    "namespace": "eth",
    "group": "lookup",
    "nullable": true,
    "reverts": false,
    "looksUpHash": true,
    "resultKinds": [
      "string"
    ],
    "resultPattern": "^0x[0-9a-fA-F]{1,64}$",
    "resultIsQuantity": true,
    "hashParams": [
      0
    ],
    "cache": {
      "param": 0
    }
  },
  {
    "name": "eth_getBlockTransactionCountByNumber",
    "namespace": "eth",
    "group": "lookup",
    "nullable": true,
    "reverts": false,
    "resultKinds": [
      "string"
    ],
    "resultPattern": "^0x[0-9a-fA-F]{1,64}$",
    "resultIsQuantity": true,
    "hashParams": [],
    "blockAt": {
      "param": 0
    },
    "cache": {
      "param": 0
    }
  },
  {
    "name": "eth_getUncleByBlockNumberAndIndex",
    "namespace": "eth",
    "group": "lookup",
    "nullable": true,
    "reverts": false,
    "resultIs": "uncle",
    "nullWhenUnsupported": true,
    "resultKinds": [
      "object"
    ],
    "hashParams": [],
    "blockAt": {
      "param": 0
    },
    "cache": {
      "param": 0
    },
    "resultType": "Uncle",
    "shape": {
      "type": "Uncle",
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
      "demand": [],
      "quantities": [
        "number",
        "difficulty",
        "totalDifficulty",
        "size",
        "gasLimit",
        "gasUsed",
        "timestamp",
        "baseFeePerGas",
        "blobGasUsed",
        "excessBlobGas",
        "slotNumber"
      ],
      "addresses": [
        "miner"
      ],
      "rename": {},
      "nested": {
        "withdrawals": {
          "type": "Withdrawal",
          "fill": [],
          "demand": [],
          "quantities": [
            "index",
            "validatorIndex",
            "amount"
          ],
          "addresses": [
            "address"
          ],
          "rename": {},
          "nested": {},
          "orHashes": []
        }
      },
      "orHashes": []
    }
  },
  {
    "name": "eth_getUncleCountByBlockHash",
    "namespace": "eth",
    "group": "lookup",
    "nullable": true,
    "reverts": false,
    "looksUpHash": true,
    "resultKinds": [
      "string"
    ],
    "resultPattern": "^0x[0-9a-fA-F]{1,64}$",
    "resultIsQuantity": true,
    "hashParams": [
      0
    ],
    "cache": {
      "param": 0
    }
  },
  {
    "name": "eth_getUncleCountByBlockNumber",
    "namespace": "eth",
    "group": "lookup",
    "nullable": true,
    "reverts": false,
    "resultKinds": [
      "string"
    ],
    "resultPattern": "^0x[0-9a-fA-F]{1,64}$",
    "resultIsQuantity": true,
    "hashParams": [],
    "blockAt": {
      "param": 0
    },
    "cache": {
      "param": 0
    }
  },
  {
    "name": "eth_syncing",
    "namespace": "eth",
    "group": "lookup",
    "nullable": false,
    "reverts": false,
    "resultIs": "sync-status",
    "resultKinds": [
      "object",
      "boolean"
    ],
    "hashParams": [],
    "resultType": "SyncStatus"
  },
  {
    "name": "eth_getProof",
    "namespace": "eth",
    "group": "lookup",
    "nullable": false,
    "reverts": false,
    "resultKinds": [
      "object"
    ],
    "storageParams": [
      1
    ],
    "hashParams": [
      2
    ],
    "contractAt": {
      "param": 0
    },
    "blockAt": {
      "param": 2,
      "readsState": true
    },
    "defaultsToLatest": 2,
    "requestUnits": "1 + storageKeys",
    "counts": [
      {
        "name": "storageKeys",
        "type": "StoragePositions",
        "param": 1
      }
    ],
    "cache": {
      "param": 2
    },
    "resultType": "AccountProof"
  },
  {
    "name": "eth_subscribe",
    "namespace": "eth",
    "group": "lookup",
    "handledBy": "socket",
    "nullable": false,
    "reverts": false,
    "resultKinds": [
      "string"
    ],
    "resultPattern": "^0x[0-9a-fA-F]{1,64}$",
    "hashParams": [],
    "counts": [
      {
        "name": "addresses",
        "type": "SubscriptionFilter",
        "param": 1
      }
    ]
  },
  {
    "name": "eth_unsubscribe",
    "namespace": "eth",
    "group": "lookup",
    "handledBy": "socket",
    "nullable": false,
    "reverts": false,
    "resultKinds": [
      "boolean"
    ],
    "hashParams": []
  },
  {
    "name": "eth_newFilter",
    "namespace": "eth",
    "group": "lookup",
    "handledBy": "filters",
    "nullable": false,
    "reverts": false,
    "resultKinds": [
      "string"
    ],
    "resultPattern": "^0x[0-9a-fA-F]{1,64}$",
    "hashParams": [
      0
    ],
    "contractAt": {
      "param": 0,
      "field": "address"
    },
    "blockAt": {
      "param": 0
    },
    "counts": [
      {
        "name": "addresses",
        "type": "LogFilter",
        "param": 0
      }
    ]
  },
  {
    "name": "eth_newBlockFilter",
    "namespace": "eth",
    "group": "lookup",
    "handledBy": "filters",
    "nullable": false,
    "reverts": false,
    "resultKinds": [
      "string"
    ],
    "resultPattern": "^0x[0-9a-fA-F]{1,64}$",
    "hashParams": []
  },
  {
    "name": "eth_newPendingTransactionFilter",
    "namespace": "eth",
    "group": "lookup",
    "handledBy": "filters",
    "nullable": false,
    "reverts": false,
    "resultKinds": [
      "string"
    ],
    "resultPattern": "^0x[0-9a-fA-F]{1,64}$",
    "hashParams": []
  },
  {
    "name": "eth_getFilterChanges",
    "namespace": "eth",
    "group": "list",
    "handledBy": "filters",
    "nullable": false,
    "reverts": false,
    "resultKinds": [
      "array",
      "array",
      "array"
    ],
    "hashParams": [],
    "resultType": "Log",
    "shape": {
      "type": "Log",
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
      "demand": [],
      "quantities": [
        "blockNumber",
        "logIndex",
        "transactionIndex",
        "blockTimestamp"
      ],
      "addresses": [
        "address"
      ],
      "rename": {},
      "nested": {},
      "orHashes": []
    }
  },
  {
    "name": "eth_getFilterLogs",
    "namespace": "eth",
    "group": "list",
    "handledBy": "filters",
    "nullable": false,
    "reverts": false,
    "resultKinds": [
      "array"
    ],
    "hashParams": [],
    "resultType": "Log",
    "shape": {
      "type": "Log",
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
      "demand": [],
      "quantities": [
        "blockNumber",
        "logIndex",
        "transactionIndex",
        "blockTimestamp"
      ],
      "addresses": [
        "address"
      ],
      "rename": {},
      "nested": {},
      "orHashes": []
    }
  },
  {
    "name": "eth_uninstallFilter",
    "namespace": "eth",
    "group": "lookup",
    "handledBy": "filters",
    "nullable": false,
    "reverts": false,
    "resultKinds": [
      "boolean"
    ],
    "hashParams": []
  },
  {
    "name": "eth_sendRawTransactionSync",
    "namespace": "eth",
    "group": "long",
    "nullable": false,
    "reverts": false,
    "sends": true,
    "resultKinds": [
      "object"
    ],
    "hashParams": [],
    "resultType": "Receipt",
    "shape": {
      "type": "Receipt",
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
      "demand": [],
      "quantities": [
        "blockNumber",
        "cumulativeGasUsed",
        "effectiveGasPrice",
        "gasUsed",
        "transactionIndex",
        "type",
        "blobGasUsed",
        "blobGasPrice",
        "blockTimestamp"
      ],
      "addresses": [
        "contractAddress",
        "from",
        "to"
      ],
      "rename": {},
      "nested": {
        "logs": {
          "type": "Log",
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
          "demand": [],
          "quantities": [
            "blockNumber",
            "logIndex",
            "transactionIndex",
            "blockTimestamp"
          ],
          "addresses": [
            "address"
          ],
          "rename": {},
          "nested": {},
          "orHashes": []
        }
      },
      "orHashes": []
    }
  },
  {
    "name": "eth_fillTransaction",
    "namespace": "eth",
    "group": "execution",
    "nullable": false,
    "reverts": true,
    "omitsPayload": true,
    "resultKinds": [
      "object"
    ],
    "hashParams": [],
    "gasAt": [
      {
        "param": 0,
        "path": [
          "gas"
        ]
      }
    ],
    "contractAt": {
      "param": 0,
      "field": "to"
    },
    "requestUnits": "2",
    "resultType": "FilledTransaction"
  },
  {
    "name": "eth_getHeaderByNumber",
    "namespace": "eth",
    "group": "lookup",
    "nullable": true,
    "reverts": false,
    "resultKinds": [
      "object"
    ],
    "identity": [
      {
        "field": "number",
        "param": 0,
        "kind": "quantity"
      }
    ],
    "hashParams": [],
    "blockAt": {
      "param": 0
    },
    "cache": {
      "param": 0
    },
    "resultType": "Header"
  },
  {
    "name": "eth_getHeaderByHash",
    "namespace": "eth",
    "group": "lookup",
    "nullable": true,
    "reverts": false,
    "looksUpHash": true,
    "resultKinds": [
      "object"
    ],
    "identity": [
      {
        "field": "hash",
        "param": 0,
        "kind": "hash"
      }
    ],
    "hashParams": [
      0
    ],
    "cache": {
      "param": 0
    },
    "resultType": "Header"
  },
  {
    "name": "eth_getRawTransactionByHash",
    "namespace": "eth",
    "group": "lookup",
    "nullable": true,
    "reverts": false,
    "looksUpHash": true,
    "tracks": {
      "of": "transaction",
      "param": 0
    },
    "resultKinds": [
      "string"
    ],
    "resultPattern": "^0x(?:[0-9a-fA-F]{2})*$",
    "hashParams": [
      0
    ]
  },
  {
    "name": "eth_getRawTransactionByBlockHashAndIndex",
    "namespace": "eth",
    "group": "lookup",
    "nullable": true,
    "reverts": false,
    "looksUpHash": true,
    "resultKinds": [
      "string"
    ],
    "resultPattern": "^0x(?:[0-9a-fA-F]{2})*$",
    "hashParams": [
      0
    ]
  },
  {
    "name": "eth_getRawTransactionByBlockNumberAndIndex",
    "namespace": "eth",
    "group": "lookup",
    "nullable": true,
    "reverts": false,
    "resultKinds": [
      "string"
    ],
    "resultPattern": "^0x(?:[0-9a-fA-F]{2})*$",
    "hashParams": [],
    "blockAt": {
      "param": 0
    }
  },
  {
    "name": "eth_pendingTransactions",
    "namespace": "eth",
    "group": "list",
    "nullable": false,
    "reverts": false,
    "resultKinds": [
      "array"
    ],
    "hashParams": []
  },
  {
    "name": "eth_getAccountInfo",
    "namespace": "eth",
    "group": "lookup",
    "nullable": false,
    "reverts": false,
    "resultKinds": [
      "object"
    ],
    "hashParams": [
      1
    ],
    "contractAt": {
      "param": 0
    },
    "blockAt": {
      "param": 1,
      "readsState": true
    },
    "cache": {
      "param": 1
    },
    "resultType": "AccountInfo"
  },
  {
    "name": "eth_getStorageValues",
    "namespace": "eth",
    "group": "lookup",
    "nullable": false,
    "reverts": false,
    "resultKinds": [
      "object"
    ],
    "resultIsMap": true,
    "hashParams": [
      1
    ],
    "contractAt": {
      "param": 0,
      "keys": true
    },
    "blockAt": {
      "param": 1,
      "readsState": true
    },
    "requestUnits": "1 + storageKeys",
    "counts": [
      {
        "name": "storageKeys",
        "type": "StorageRequest",
        "param": 0
      }
    ],
    "cache": {
      "param": 1
    }
  },
  {
    "name": "eth_config",
    "namespace": "eth",
    "group": "lookup",
    "nullable": false,
    "reverts": false,
    "resultKinds": [
      "object"
    ],
    "hashParams": [],
    "cache": "head"
  },
  {
    "name": "eth_capabilities",
    "namespace": "eth",
    "group": "lookup",
    "nullable": false,
    "reverts": false,
    "resultKinds": [
      "object"
    ],
    "hashParams": []
  },
  {
    "name": "eth_baseFee",
    "namespace": "eth",
    "group": "lookup",
    "nullable": false,
    "reverts": false,
    "resultKinds": [
      "string"
    ],
    "resultPattern": "^0x[0-9a-fA-F]{1,64}$",
    "resultIsQuantity": true,
    "hashParams": [],
    "cache": "head"
  },
  {
    "name": "eth_getBlockAccessList",
    "namespace": "eth",
    "group": "list",
    "nullable": true,
    "reverts": false,
    "resultKinds": [
      "array"
    ],
    "hashParams": [
      0
    ],
    "blockAt": {
      "param": 0
    },
    "requestUnits": "10",
    "cache": {
      "param": 0
    },
    "resultType": "AccountAccess"
  },
  {
    "name": "linea_estimateGas",
    "namespace": "linea",
    "group": "execution",
    "nullable": false,
    "reverts": true,
    "omitsPayload": true,
    "resultKinds": [
      "object"
    ],
    "hashParams": [
      1
    ],
    "gasAt": [
      {
        "param": 0,
        "path": [
          "gas"
        ]
      }
    ],
    "contractAt": {
      "param": 0,
      "field": "to",
      "overrides": 2
    },
    "blockAt": {
      "param": 1,
      "readsState": true
    },
    "requestUnits": "2 + overrides / 10",
    "counts": [
      {
        "name": "overrides",
        "type": "StateOverride",
        "param": 2
      }
    ],
    "resultType": "LineaGasEstimate"
  },
  {
    "name": "net_version",
    "namespace": "net",
    "group": "lookup",
    "handledBy": "local",
    "nullable": false,
    "reverts": false,
    "resultKinds": [
      "string"
    ],
    "resultPattern": "^(0|[1-9][0-9]*)$",
    "hashParams": [],
    "requestUnits": "0.1"
  },
  {
    "name": "net_listening",
    "namespace": "net",
    "group": "lookup",
    "handledBy": "local",
    "nullable": false,
    "reverts": false,
    "resultKinds": [
      "boolean"
    ],
    "hashParams": [],
    "requestUnits": "0.1"
  },
  {
    "name": "net_peerCount",
    "namespace": "net",
    "group": "lookup",
    "nullable": false,
    "reverts": false,
    "resultKinds": [
      "string"
    ],
    "resultPattern": "^0x[0-9a-fA-F]{1,64}$",
    "resultIsQuantity": true,
    "hashParams": []
  },
  {
    "name": "rpc.discover",
    "namespace": "rpc",
    "group": "lookup",
    "handledBy": "document",
    "nullable": false,
    "reverts": false,
    "resultKinds": [
      "object"
    ],
    "hashParams": [],
    "requestUnits": "0.1"
  },
  {
    "name": "rpc_modules",
    "namespace": "rpc",
    "group": "lookup",
    "handledBy": "local",
    "nullable": false,
    "reverts": false,
    "resultKinds": [
      "object"
    ],
    "resultIsMap": true,
    "hashParams": [],
    "requestUnits": "0.1"
  },
  {
    "name": "web3_clientVersion",
    "namespace": "web3",
    "group": "lookup",
    "handledBy": "local",
    "nullable": false,
    "reverts": false,
    "resultKinds": [
      "string"
    ],
    "hashParams": [],
    "requestUnits": "0.1"
  },
  {
    "name": "web3_sha3",
    "namespace": "web3",
    "group": "lookup",
    "nullable": false,
    "reverts": false,
    "resultKinds": [
      "string"
    ],
    "resultPattern": "^0x[0-9a-fA-F]{64}$",
    "hashParams": []
  },
  {
    "name": "zks_estimateFee",
    "namespace": "zks",
    "group": "execution",
    "nullable": false,
    "reverts": true,
    "omitsPayload": true,
    "resultKinds": [
      "object"
    ],
    "hashParams": [],
    "contractAt": {
      "param": 0,
      "field": "to",
      "overrides": 1
    },
    "requestUnits": "2",
    "counts": [
      {
        "name": "overrides",
        "type": "StateOverride",
        "param": 1
      }
    ],
    "resultType": "FeeEstimate",
    "shape": {
      "type": "FeeEstimate",
      "fill": [],
      "demand": [
        "gas_limit",
        "gas_per_pubdata_limit",
        "max_fee_per_gas",
        "max_priority_fee_per_gas"
      ],
      "quantities": [
        "gas_limit",
        "gas_per_pubdata_limit",
        "max_fee_per_gas",
        "max_priority_fee_per_gas"
      ],
      "addresses": [],
      "rename": {},
      "nested": {},
      "orHashes": []
    }
  },
  {
    "name": "zks_gasPerPubdata",
    "namespace": "zks",
    "group": "lookup",
    "nullable": false,
    "reverts": false,
    "resultKinds": [
      "string"
    ],
    "resultPattern": "^0x[0-9a-fA-F]{1,64}$",
    "resultIsQuantity": true,
    "hashParams": []
  },
  {
    "name": "zks_getFeeParams",
    "namespace": "zks",
    "group": "lookup",
    "nullable": false,
    "reverts": false,
    "resultKinds": [
      "object"
    ],
    "hashParams": [],
    "resultType": "FeeParams"
  },
  {
    "name": "zks_getBridgeContracts",
    "namespace": "zks",
    "group": "lookup",
    "nullable": false,
    "reverts": false,
    "resultKinds": [
      "object"
    ],
    "hashParams": [],
    "resultType": "BridgeContracts"
  },
  {
    "name": "zks_L1ChainId",
    "namespace": "zks",
    "group": "lookup",
    "nullable": false,
    "reverts": false,
    "resultKinds": [
      "string"
    ],
    "resultPattern": "^0x[0-9a-fA-F]{1,64}$",
    "resultIsQuantity": true,
    "hashParams": []
  },
  {
    "name": "zks_getBlockDetails",
    "namespace": "zks",
    "group": "lookup",
    "nullable": true,
    "reverts": false,
    "resultKinds": [
      "object"
    ],
    "hashParams": [],
    "resultType": "BlockDetails"
  },
  {
    "name": "zks_getTransactionDetails",
    "namespace": "zks",
    "group": "lookup",
    "nullable": true,
    "reverts": false,
    "looksUpHash": true,
    "resultKinds": [
      "object"
    ],
    "hashParams": [
      0
    ],
    "resultType": "TransactionDetails"
  },
  {
    "name": "zks_estimateGasL1ToL2",
    "namespace": "zks",
    "group": "execution",
    "nullable": false,
    "reverts": true,
    "omitsPayload": true,
    "resultIs": "gas-estimate",
    "resultKinds": [
      "string"
    ],
    "resultPattern": "^0x[0-9a-fA-F]{1,64}$",
    "resultIsQuantity": true,
    "hashParams": [],
    "gasAt": [
      {
        "param": 0,
        "path": [
          "gas"
        ]
      }
    ],
    "contractAt": {
      "param": 0,
      "field": "to",
      "overrides": 1
    },
    "requestUnits": "2",
    "counts": [
      {
        "name": "overrides",
        "type": "StateOverride",
        "param": 1
      }
    ]
  },
  {
    "name": "zks_getBridgehubContract",
    "namespace": "zks",
    "group": "lookup",
    "nullable": true,
    "reverts": false,
    "resultKinds": [
      "string"
    ],
    "resultPattern": "^0x[0-9a-fA-F]{40}$",
    "hashParams": []
  },
  {
    "name": "zks_getMainContract",
    "namespace": "zks",
    "group": "lookup",
    "nullable": false,
    "reverts": false,
    "resultKinds": [
      "string"
    ],
    "resultPattern": "^0x[0-9a-fA-F]{40}$",
    "hashParams": []
  },
  {
    "name": "zks_getTestnetPaymaster",
    "namespace": "zks",
    "group": "lookup",
    "nullable": true,
    "reverts": false,
    "resultKinds": [
      "string"
    ],
    "resultPattern": "^0x[0-9a-fA-F]{40}$",
    "hashParams": []
  },
  {
    "name": "zks_getBaseTokenL1Address",
    "namespace": "zks",
    "group": "lookup",
    "nullable": false,
    "reverts": false,
    "resultKinds": [
      "string"
    ],
    "resultPattern": "^0x[0-9a-fA-F]{40}$",
    "hashParams": []
  },
  {
    "name": "zks_getTimestampAsserter",
    "namespace": "zks",
    "group": "lookup",
    "nullable": true,
    "reverts": false,
    "resultKinds": [
      "string"
    ],
    "resultPattern": "^0x[0-9a-fA-F]{40}$",
    "hashParams": []
  },
  {
    "name": "zks_getL2Multicall3",
    "namespace": "zks",
    "group": "lookup",
    "nullable": true,
    "reverts": false,
    "resultKinds": [
      "string"
    ],
    "resultPattern": "^0x[0-9a-fA-F]{40}$",
    "hashParams": []
  },
  {
    "name": "zks_getConfirmedTokens",
    "namespace": "zks",
    "group": "list",
    "nullable": false,
    "reverts": false,
    "resultKinds": [
      "array"
    ],
    "hashParams": []
  },
  {
    "name": "zks_getAllAccountBalances",
    "namespace": "zks",
    "group": "lookup",
    "nullable": false,
    "reverts": false,
    "resultKinds": [
      "object"
    ],
    "hashParams": [],
    "contractAt": {
      "param": 0
    }
  },
  {
    "name": "zks_getL2ToL1MsgProof",
    "namespace": "zks",
    "group": "lookup",
    "nullable": true,
    "reverts": false,
    "resultKinds": [
      "object"
    ],
    "hashParams": [
      2
    ],
    "contractAt": {
      "param": 1
    },
    "resultType": "LogProof"
  },
  {
    "name": "zks_getL2ToL1LogProof",
    "namespace": "zks",
    "group": "lookup",
    "nullable": true,
    "reverts": false,
    "looksUpHash": true,
    "resultKinds": [
      "object"
    ],
    "hashParams": [
      0
    ],
    "resultType": "LogProof"
  },
  {
    "name": "zks_L1BatchNumber",
    "namespace": "zks",
    "group": "lookup",
    "nullable": false,
    "reverts": false,
    "resultKinds": [
      "string"
    ],
    "resultPattern": "^0x[0-9a-fA-F]{1,64}$",
    "resultIsQuantity": true,
    "hashParams": []
  },
  {
    "name": "zks_getL1BatchBlockRange",
    "namespace": "zks",
    "group": "list",
    "nullable": true,
    "reverts": false,
    "resultKinds": [
      "array"
    ],
    "hashParams": []
  },
  {
    "name": "zks_getL1BatchDetails",
    "namespace": "zks",
    "group": "lookup",
    "nullable": true,
    "reverts": false,
    "resultKinds": [
      "object"
    ],
    "hashParams": [],
    "resultType": "BatchDetails"
  },
  {
    "name": "zks_getRawBlockTransactions",
    "namespace": "zks",
    "group": "list",
    "nullable": false,
    "reverts": false,
    "resultKinds": [
      "array"
    ],
    "hashParams": [],
    "requestUnits": "10"
  },
  {
    "name": "zks_getBytecodeByHash",
    "namespace": "zks",
    "group": "list",
    "nullable": true,
    "reverts": false,
    "looksUpHash": true,
    "resultKinds": [
      "array"
    ],
    "hashParams": [
      0
    ]
  },
  {
    "name": "zks_getL1GasPrice",
    "namespace": "zks",
    "group": "lookup",
    "nullable": false,
    "reverts": false,
    "resultKinds": [
      "string"
    ],
    "resultPattern": "^0x[0-9a-fA-F]{1,64}$",
    "resultIsQuantity": true,
    "hashParams": []
  },
  {
    "name": "zks_getProtocolVersion",
    "namespace": "zks",
    "group": "lookup",
    "nullable": true,
    "reverts": false,
    "resultKinds": [
      "object"
    ],
    "hashParams": []
  },
  {
    "name": "zks_getProof",
    "namespace": "zks",
    "group": "lookup",
    "nullable": true,
    "reverts": false,
    "resultKinds": [
      "object"
    ],
    "hashParams": [],
    "contractAt": {
      "param": 0
    },
    "requestUnits": "1 + storageKeys",
    "counts": [
      {
        "name": "storageKeys",
        "type": "Words",
        "param": 1
      }
    ]
  },
  {
    "name": "zks_getBatchFeeInput",
    "namespace": "zks",
    "group": "lookup",
    "nullable": false,
    "reverts": false,
    "resultKinds": [
      "object"
    ],
    "hashParams": []
  },
  {
    "name": "zks_sendRawTransactionWithDetailedOutput",
    "namespace": "zks",
    "group": "execution",
    "nullable": false,
    "reverts": false,
    "sends": true,
    "resultKinds": [
      "object"
    ],
    "hashParams": [],
    "resultType": "DetailedOutput"
  },
  {
    "name": "zks_getGenesis",
    "namespace": "zks",
    "group": "lookup",
    "nullable": false,
    "reverts": false,
    "resultKinds": [
      "object"
    ],
    "hashParams": [],
    "requestUnits": "10"
  },
  {
    "name": "zks_getBlockMetadataByNumber",
    "namespace": "zks",
    "group": "lookup",
    "nullable": true,
    "reverts": false,
    "resultKinds": [
      "object"
    ],
    "hashParams": [],
    "resultType": "BlockMetadata"
  },
  {
    "name": "zks_getBytecodeSupplierContract",
    "namespace": "zks",
    "group": "lookup",
    "nullable": false,
    "reverts": false,
    "resultKinds": [
      "string"
    ],
    "resultPattern": "^0x[0-9a-fA-F]{40}$",
    "hashParams": []
  },
  {
    "name": "zks_lastSettlementChangeBlock",
    "namespace": "zks",
    "group": "lookup",
    "nullable": true,
    "reverts": false,
    "resultKinds": [
      "number"
    ],
    "hashParams": []
  }
];

/** The methods that the gateway itself sends to upstreams, by `role`. */
export const nodeMethods = {
  "blockByHash": "eth_getBlockByHash",
  "transactionByHash": "eth_getTransactionByHash",
  "chainId": "eth_chainId",
  "blockByNumber": "eth_getBlockByNumber",
  "call": "eth_call",
  "logs": "eth_getLogs",
  "blockReceipts": "eth_getBlockReceipts",
  "subscribe": "eth_subscribe",
  "unsubscribe": "eth_unsubscribe",
  "newPendingFilter": "eth_newPendingTransactionFilter",
  "filterChanges": "eth_getFilterChanges",
  "removeFilter": "eth_uninstallFilter"
} as const;

/** The fields that audits compare, by type. The value is the type of the objects in a field; empty for other values. */
export const comparedFields: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  "Block": {
    "number": "",
    "hash": "",
    "parentHash": "",
    "nonce": "",
    "sha3Uncles": "",
    "logsBloom": "",
    "transactionsRoot": "",
    "stateRoot": "",
    "receiptsRoot": "",
    "miner": "",
    "difficulty": "",
    "extraData": "",
    "gasLimit": "",
    "gasUsed": "",
    "timestamp": "",
    "uncles": "",
    "mixHash": "",
    "baseFeePerGas": "",
    "blobGasUsed": "",
    "excessBlobGas": "",
    "slotNumber": "",
    "withdrawals": "Withdrawal",
    "transactions": "Transaction"
  },
  "Withdrawal": {
    "index": "",
    "validatorIndex": "",
    "address": "",
    "amount": ""
  },
  "Transaction": {
    "accessList": "",
    "blockHash": "",
    "blockNumber": "",
    "from": "",
    "gas": "",
    "hash": "",
    "input": "",
    "maxPriorityFeePerGas": "",
    "maxFeePerGas": "",
    "nonce": "",
    "r": "",
    "s": "",
    "to": "",
    "transactionIndex": "",
    "type": "",
    "value": "",
    "yParity": "",
    "maxFeePerBlobGas": "",
    "authorizationList": "Authorization"
  },
  "Authorization": {
    "chainId": "",
    "address": "",
    "nonce": "",
    "yParity": "",
    "r": "",
    "s": ""
  },
  "Uncle": {
    "number": "",
    "hash": "",
    "parentHash": "",
    "nonce": "",
    "sha3Uncles": "",
    "logsBloom": "",
    "transactionsRoot": "",
    "stateRoot": "",
    "receiptsRoot": "",
    "miner": "",
    "difficulty": "",
    "extraData": "",
    "gasLimit": "",
    "gasUsed": "",
    "timestamp": "",
    "uncles": "",
    "mixHash": "",
    "baseFeePerGas": "",
    "blobGasUsed": "",
    "excessBlobGas": "",
    "slotNumber": "",
    "withdrawals": "Withdrawal"
  },
  "Receipt": {
    "blockHash": "",
    "blockNumber": "",
    "contractAddress": "",
    "cumulativeGasUsed": "",
    "effectiveGasPrice": "",
    "from": "",
    "gasUsed": "",
    "logs": "Log",
    "logsBloom": "",
    "root": "",
    "status": "",
    "to": "",
    "transactionHash": "",
    "transactionIndex": "",
    "type": "",
    "blobGasUsed": "",
    "blobGasPrice": ""
  },
  "Log": {
    "address": "",
    "blockHash": "",
    "blockNumber": "",
    "data": "",
    "logIndex": "",
    "topics": "",
    "transactionHash": "",
    "transactionIndex": ""
  },
  "AccessListResult": {
    "accessList": "AccessListEntry",
    "gasUsed": "",
    "error": ""
  },
  "AccessListEntry": {
    "address": "",
    "storageKeys": ""
  },
  "FeeHistory": {
    "oldestBlock": "",
    "baseFeePerGas": "",
    "gasUsedRatio": "",
    "reward": "",
    "baseFeePerBlobGas": "",
    "blobGasUsedRatio": ""
  },
  "SyncStatus": {
    "startingBlock": "",
    "currentBlock": "",
    "highestBlock": ""
  },
  "AccountProof": {
    "address": "",
    "accountProof": "",
    "balance": "",
    "codeHash": "",
    "nonce": "",
    "storageHash": "",
    "storageProof": "StorageProof"
  },
  "StorageProof": {
    "key": "",
    "value": "",
    "proof": ""
  },
  "FilledTransaction": {
    "raw": "",
    "tx": ""
  },
  "Header": {
    "number": "",
    "hash": "",
    "parentHash": "",
    "nonce": "",
    "sha3Uncles": "",
    "logsBloom": "",
    "transactionsRoot": "",
    "stateRoot": "",
    "receiptsRoot": "",
    "miner": "",
    "difficulty": "",
    "extraData": "",
    "gasLimit": "",
    "gasUsed": "",
    "timestamp": "",
    "uncles": "",
    "mixHash": "",
    "baseFeePerGas": "",
    "blobGasUsed": "",
    "excessBlobGas": "",
    "slotNumber": "",
    "withdrawals": "Withdrawal"
  },
  "AccountInfo": {
    "balance": "",
    "nonce": "",
    "code": ""
  },
  "AccountAccess": {
    "address": "",
    "storageChanges": "",
    "storageReads": "",
    "balanceChanges": "",
    "nonceChanges": "",
    "codeChanges": ""
  },
  "LineaGasEstimate": {
    "gasLimit": "",
    "baseFeePerGas": "",
    "priorityFeePerGas": ""
  },
  "FeeEstimate": {
    "gas_limit": "",
    "gas_per_pubdata_limit": "",
    "max_fee_per_gas": "",
    "max_priority_fee_per_gas": ""
  },
  "FeeParams": {
    "V2": "FeeParamsV2"
  },
  "FeeParamsV2": {
    "config": "",
    "l1_gas_price": "",
    "l1_pubdata_price": ""
  },
  "BridgeContracts": {
    "l1Erc20DefaultBridge": "",
    "l2Erc20DefaultBridge": "",
    "l1SharedDefaultBridge": "",
    "l2SharedDefaultBridge": "",
    "l1WethBridge": "",
    "l2WethBridge": ""
  },
  "BlockDetails": {
    "number": "",
    "l1BatchNumber": "",
    "timestamp": "",
    "l1TxCount": "",
    "l2TxCount": "",
    "rootHash": "",
    "status": "",
    "commitTxHash": "",
    "committedAt": "",
    "proveTxHash": "",
    "provenAt": "",
    "executeTxHash": "",
    "executedAt": ""
  },
  "TransactionDetails": {
    "isL1Originated": "",
    "status": "",
    "fee": "",
    "gasPerPubdata": "",
    "initiatorAddress": "",
    "receivedAt": "",
    "ethCommitTxHash": "",
    "ethProveTxHash": "",
    "ethExecuteTxHash": ""
  },
  "LogProof": {
    "id": "",
    "proof": "",
    "root": ""
  },
  "BatchDetails": {
    "number": "",
    "timestamp": "",
    "l1TxCount": "",
    "l2TxCount": "",
    "status": ""
  },
  "DetailedOutput": {
    "transactionHash": "",
    "storageLogs": "",
    "events": ""
  },
  "BlockMetadata": {
    "pubdata_price_per_byte": "",
    "native_price": "",
    "execution_version": ""
  }
};

/** Request units of methods without a schema, by name or by the start of the name. */
export const passThroughUnits: Readonly<Record<string, number | string>> = {
  "debug_*": 5,
  "debug_traceTransaction": 20,
  "debug_traceCall": 20,
  "debug_traceCallMany": 40,
  "debug_traceBlock*": 50,
  "debug_traceChain": 1000,
  "debug_traceBadBlock": 50,
  "debug_standardTraceBlock*": 50,
  "debug_storageRangeAt": 20,
  "debug_intermediateRoots": 50,
  "trace_*": 5,
  "trace_block": 10,
  "trace_callMany": 10,
  "trace_filter": 20,
  "trace_replayTransaction": 20,
  "trace_replayBlockTransactions": 50,
  "txpool_content": 10,
  "ots_*": 5
};

/** Methods without a schema that split: the position of the filter with the block range. */
export const passThroughSplits: Readonly<Record<string, number>> = {
  "trace_filter": 0
};

/** Methods without a schema, by name or by the start of the name: their group, if it is not `other`. */
export const passThroughGroups: Readonly<Record<string, MethodGroup>> = {
  "debug_*": "long",
  "trace_*": "long",
  "arbtrace_*": "long",
  "ots_*": "long"
};

/** What development networks serve beside the methods of their files: names, and namespaces as `evm_*`. */
export const developmentMethods: readonly string[] = [
  "anvil_*",
  "evm_*",
  "hardhat_*",
  "debug_*",
  "trace_*",
  "txpool_*",
  "ots_*",
  "eth_accounts",
  "eth_sendTransaction",
  "eth_sign",
  "eth_signTransaction",
  "eth_signTypedData",
  "eth_signTypedData_v3",
  "eth_signTypedData_v4",
  "personal_sign",
  "web3_clientVersion"
];

/** Methods that no wildcard opens: an asterisk stands for any characters. */
export const neverOpened: readonly string[] = [
  "admin_*",
  "personal_*",
  "miner_*",
  "engine_*",
  "signer_*",
  "plugins_*",
  "les_*",
  "vflux_*",
  "shh_*",
  "db_*",
  "perm_*",
  "secretstore_*",
  "opp2p_*",
  "conductor_*",
  "raft_*",
  "parity_accept*",
  "parity_drop*",
  "parity_executeUpgrade",
  "parity_hashContent",
  "parity_post*",
  "anvil_*",
  "hardhat_*",
  "evm_*",
  "ganache_*",
  "tenderly_*",
  "tevm_*",
  "arbdebug_*",
  "*_set*",
  "*_clear*",
  "*_change*",
  "*_reset*",
  "*_verbosity",
  "*_vmodule",
  "*_backtraceAt",
  "*_delete*",
  "*_remove*",
  "*_insert*",
  "*_add*",
  "*_migrate*",
  "*_import*",
  "*_export*",
  "*_write*",
  "*Compact*",
  "*_flush*",
  "*_start*",
  "*_stop*",
  "*_free*",
  "*_reload*",
  "*_sync",
  "*_resync*",
  "*_propose*",
  "*_discard*",
  "*_lock*",
  "*_unlock*",
  "*Profile",
  "*GoTrace",
  "*ToFile",
  "*FromFile",
  "*_send*",
  "*SendRaw*",
  "*SendTransaction*",
  "*_submit*",
  "*_distribute*",
  "*_create*",
  "*_sign*",
  "*testSign*",
  "*_getConfigValue",
  "*_subscribe",
  "*_unsubscribe",
  "*_new*",
  "*_uninstall*",
  "*_getFilter*"
];

/** The methods that the gateway handles itself, and by which part: `answer`. */
export type HandledMethods = {
  "eth_chainId": "local",
  "eth_accounts": "local",
  "eth_subscribe": "socket",
  "eth_unsubscribe": "socket",
  "eth_newFilter": "filters",
  "eth_newBlockFilter": "filters",
  "eth_newPendingTransactionFilter": "filters",
  "eth_getFilterChanges": "filters",
  "eth_getFilterLogs": "filters",
  "eth_uninstallFilter": "filters",
  "net_version": "local",
  "net_listening": "local",
  "rpc.discover": "document",
  "rpc_modules": "local",
  "web3_clientVersion": "local"
};
