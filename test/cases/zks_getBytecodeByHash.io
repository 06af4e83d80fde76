// spec: signature in matter-labs/zksync-era@254c96ec core/lib/web3_decl/src/namespaces/zks.rs; the values are made up
// two bytes
>> {"jsonrpc":"2.0","id":1,"method":"zks_getBytecodeByHash","params":["0x0100067d861e2f5717a12c3e869cfb657793b86bbb0caa05cc1421f16c5217bc"]}
<< {"jsonrpc":"2.0","id":1,"result":[0,2]}
