// spec: example in docs.linea.build
// a transfer of Ether
>> {"jsonrpc":"2.0","id":1,"method":"linea_estimateGas","params":[{"from":"0x2bd806c97f0e00af1a1fc3328fa763a9269723c8","to":"0x3c469e9d6c5875d37a43f353d4f88e61fcf812c6","value":"0x1"}]}
<< {"jsonrpc":"2.0","id":1,"result":{"baseFeePerGas":"0x7","gasLimit":"0xcf08","priorityFeePerGas":"0x43a82a4"}}

// a transfer of Ether, at a block
>> {"jsonrpc":"2.0","id":1,"method":"linea_estimateGas","params":[{"from":"0x2bd806c97f0e00af1a1fc3328fa763a9269723c8","to":"0x3c469e9d6c5875d37a43f353d4f88e61fcf812c6","value":"0x1"},"latest",{}]}
<< {"jsonrpc":"2.0","id":1,"result":{"baseFeePerGas":"0x7","gasLimit":"0xcf08","priorityFeePerGas":"0x43a82a4"}}
