// spec: signature in matter-labs/zksync-era@254c96ec core/lib/web3_decl/src/namespaces/zks.rs; the values are made up
// a chain whose base token is Ether
>> {"jsonrpc":"2.0","id":1,"method":"zks_getBatchFeeInput","params":[]}
<< {"jsonrpc":"2.0","id":1,"result":{"l1_gas_price":46226388803,"fair_l2_gas_price":100000000,"fair_pubdata_price":791881600000}}
