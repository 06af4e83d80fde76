// spec: signature in matter-labs/zksync-era@254c96ec core/lib/web3_decl/src/namespaces/zks.rs; the values are made up
// one token
>> {"jsonrpc":"2.0","id":1,"method":"zks_getConfirmedTokens","params":[0,1]}
<< {"jsonrpc":"2.0","id":1,"result":[{"l1Address":"0x8b133a3868993176b613738816247a7f4d357cae","l2Address":"0x3c469e9d6c5875d37a43f353d4f88e61fcf812c6","name":"Ether","symbol":"ETH","decimals":18}]}
