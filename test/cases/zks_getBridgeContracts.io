// spec: signature in matter-labs/zksync-era@254c96ec core/lib/web3_decl/src/namespaces/zks.rs; the values are made up
// bridges without a bridge for WETH
>> {"jsonrpc":"2.0","id":1,"method":"zks_getBridgeContracts","params":[]}
<< {"jsonrpc":"2.0","id":1,"result":{"l1SharedDefaultBridge":"0x2bd806c97f0e00af1a1fc3328fa763a9269723c8","l2SharedDefaultBridge":"0x81b637d8fcd2c6da6359e6963113a1170de795e4","l1WethBridge":null}}

// a parameter
>> {"jsonrpc":"2.0","id":1,"method":"zks_getBridgeContracts","params":[1]}
<< {"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"invalid params: expected no parameters"}}
