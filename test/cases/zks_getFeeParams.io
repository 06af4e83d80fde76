// spec: example in matter-labs/zksync-docs@b16cbeef content/20.zksync-protocol/10.api/40.zks-rpc.md; some values are changed
// the parameters of the second fee model
>> {"jsonrpc":"2.0","id":1,"method":"zks_getFeeParams","params":[]}
<< {"jsonrpc":"2.0","id":1,"result":{"V2":{"config":{"minimal_l2_gas_price":45250000,"compute_overhead_part":0,"pubdata_overhead_part":1,"batch_overhead_l1_gas":800000,"max_gas_per_batch":200000000,"max_pubdata_per_batch":240000},"l1_gas_price":4622638880,"l1_pubdata_price":1007804750}}}

// a parameter
>> {"jsonrpc":"2.0","id":1,"method":"zks_getFeeParams","params":["latest"]}
<< {"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"invalid params: expected no parameters"}}
