// spec: signature in matter-labs/zksync-era@254c96ec core/lib/web3_decl/src/namespaces/zks.rs; the values are made up
// a call of a contract
>> {"jsonrpc":"2.0","id":1,"method":"zks_estimateGasL1ToL2","params":[{"from":"0x2bd806c97f0e00af1a1fc3328fa763a9269723c8","to":"0x3c469e9d6c5875d37a43f353d4f88e61fcf812c6","data":"0x"}]}
<< {"jsonrpc":"2.0","id":1,"result":"0x17bc1f"}

// with a state override
>> {"jsonrpc":"2.0","id":1,"method":"zks_estimateGasL1ToL2","params":[{"from":"0x2bd806c97f0e00af1a1fc3328fa763a9269723c8","to":"0x3c469e9d6c5875d37a43f353d4f88e61fcf812c6","data":"0x"},{"0x2bd806c97f0e00af1a1fc3328fa763a9269723c8":{"balance":"0x1"}}]}
<< {"jsonrpc":"2.0","id":1,"result":"0x17bc20"}
