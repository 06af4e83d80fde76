// spec: signature in matter-labs/zksync-era@254c96ec core/lib/web3_decl/src/namespaces/zks.rs; the values are made up
// a fee
>> {"jsonrpc":"2.0","id":1,"method":"zks_estimateFee","params":[{"from":"0x1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a","to":"0x2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b","data":"0xa9059cbb"}]}
<< {"jsonrpc":"2.0","id":1,"result":{"gas_limit":"0x1ea9a9","max_fee_per_gas":"0x17d7840","max_priority_fee_per_gas":"0x0","gas_per_pubdata_limit":"0x5340"}}

// a fee for a transaction with a paymaster
>> {"jsonrpc":"2.0","id":1,"method":"zks_estimateFee","params":[{"from":"0x1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a","to":"0x2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b","data":"0x","eip712Meta":{"gasPerPubdata":"0xc350"}}]}
<< {"jsonrpc":"2.0","id":1,"result":{"gas_limit":"0x1ea9a9","max_fee_per_gas":"0x17d7840","max_priority_fee_per_gas":"0x0","gas_per_pubdata_limit":"0x5340"}}

// a revert
>> {"jsonrpc":"2.0","id":1,"method":"zks_estimateFee","params":[{"from":"0x1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a","to":"0x2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b","data":"0x01"}]}
<< {"jsonrpc":"2.0","id":1,"error":{"code":3,"message":"execution reverted: no more","data":"0x08c379a0000000000000000000000000000000000000000000000000000000000000002000000000000000000000000000000000000000000000000000000000000000076e6f206d6f726500000000000000000000000000000000000000000000000000"}}

// a failed validation, for which the node returns code 3
>> {"jsonrpc":"2.0","id":1,"method":"zks_estimateFee","params":[{"from":"0x1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a","to":"0x2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b","data":"0x02"}]}
<- {"error":{"code":3,"message":"failed to validate the transaction. reason: Validation revert: no","data":"0x"}}
<< {"jsonrpc":"2.0","id":1,"error":{"code":-32000,"message":"failed to validate the transaction. reason: Validation revert: no"}}

// an upstream without the method
>> {"jsonrpc":"2.0","id":1,"method":"zks_estimateFee","params":[{"from":"0x1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a","to":"0x2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b","data":"0x03"}]}
<- {"error":{"code":-32601,"message":"Method not found"}}
<< {"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"The method zks_estimateFee does not exist/is not available"}}

// no sender
>> {"jsonrpc":"2.0","id":1,"method":"zks_estimateFee","params":[{"to":"0x2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b"}]}
<< {"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"invalid params: transaction.from: expected 20-byte address"}}

// a fee with a state override
>> {"jsonrpc":"2.0","id":1,"method":"zks_estimateFee","params":[{"from":"0x1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a","to":"0x2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b","data":"0x04"},{"0x1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a":{"balance":"0x1"}}]}
<< {"jsonrpc":"2.0","id":1,"result":{"gas_limit":"0x1ea9a9","max_fee_per_gas":"0x17d7840","max_priority_fee_per_gas":"0x0","gas_per_pubdata_limit":"0x5340"}}
