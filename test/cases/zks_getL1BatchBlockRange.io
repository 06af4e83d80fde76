// spec: signature in matter-labs/zksync-era@254c96ec core/lib/web3_decl/src/namespaces/zks.rs; the values are made up
// a batch of 54 blocks
>> {"jsonrpc":"2.0","id":1,"method":"zks_getL1BatchBlockRange","params":[468355]}
<< {"jsonrpc":"2.0","id":1,"result":["0x1c921d4","0x1c92209"]}
