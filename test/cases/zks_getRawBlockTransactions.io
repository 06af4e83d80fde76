// spec: signature in matter-labs/zksync-era@254c96ec core/lib/web3_decl/src/namespaces/zks.rs; the values are made up
// an empty block
>> {"jsonrpc":"2.0","id":1,"method":"zks_getRawBlockTransactions","params":[140599]}
<< {"jsonrpc":"2.0","id":1,"result":[]}
