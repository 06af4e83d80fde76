// an estimate
>> {"jsonrpc":"2.0","id":1,"method":"eth_estimateGas","params":[{"from":"0x1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a","to":"0x2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b","data":"0xa9059cbb"}]}
<< {"jsonrpc":"2.0","id":1,"result":"0xc8d7"}

// an estimate on a block, with a state override
>> {"jsonrpc":"2.0","id":1,"method":"eth_estimateGas","params":[{"from":"0x1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a","to":"0x2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b","data":"0xa9059cbb"},"pending",{"0x1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a":{"balance":"0x1"}}]}
<< {"jsonrpc":"2.0","id":1,"result":"0xc8d7"}

// a contract creation
>> {"jsonrpc":"2.0","id":1,"method":"eth_estimateGas","params":[{"from":"0x1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a","to":null,"input":"0x6001"}]}
<< {"jsonrpc":"2.0","id":1,"result":"0xd000"}

// gas within the cap
>> {"jsonrpc":"2.0","id":1,"method":"eth_estimateGas","params":[{"from":"0x1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a","to":"0x2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b","data":"0xa9059cbb","gas":"0x5208"}]}
<< {"jsonrpc":"2.0","id":1,"result":"0x5208"}

// gas over the cap, ten times the block gas limit, is lowered
>> {"jsonrpc":"2.0","id":1,"method":"eth_estimateGas","params":[{"from":"0x1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a","to":"0x2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b","data":"0xa9059cbb","gas":"0xffffffffffffffffffff"}]}
-> {"method":"eth_estimateGas","params":[{"from":"0x1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a","to":"0x2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b","data":"0xa9059cbb","gas":"0x11e1a300"}]}
<- {"result":"0x5208"}
<< {"jsonrpc":"2.0","id":1,"result":"0x5208"}

// a revert with a reason
>> {"jsonrpc":"2.0","id":1,"method":"eth_estimateGas","params":[{"from":"0x1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a","to":"0x2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b","data":"0x01"}]}
<- {"error":{"code":3,"message":"execution reverted: no more","data":"0x08c379a0000000000000000000000000000000000000000000000000000000000000002000000000000000000000000000000000000000000000000000000000000000076e6f206d6f726500000000000000000000000000000000000000000000000000"}}
<< {"jsonrpc":"2.0","id":1,"error":{"code":3,"message":"execution reverted: no more","data":"0x08c379a0000000000000000000000000000000000000000000000000000000000000002000000000000000000000000000000000000000000000000000000000000000076e6f206d6f726500000000000000000000000000000000000000000000000000"}}

// a panic as anvil returns it
>> {"jsonrpc":"2.0","id":1,"method":"eth_estimateGas","params":[{"from":"0x1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a","to":"0x2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b","data":"0x02"}]}
<- {"error":{"code":3,"message":"execution reverted: panic: arithmetic underflow or overflow (0x11)","data":"0x4e487b710000000000000000000000000000000000000000000000000000000000000011"}}
<< {"jsonrpc":"2.0","id":1,"error":{"code":3,"message":"execution reverted: arithmetic underflow or overflow","data":"0x4e487b710000000000000000000000000000000000000000000000000000000000000011"}}

// a revert without data, before geth gave it code 3
>> {"jsonrpc":"2.0","id":1,"method":"eth_estimateGas","params":[{"from":"0x1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a","to":"0x2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b","data":"0x03"}]}
<- {"error":{"code":-32000,"message":"execution reverted"}}
<< {"jsonrpc":"2.0","id":1,"error":{"code":3,"message":"execution reverted","data":"0x"}}

// a reason that reads like another error
>> {"jsonrpc":"2.0","id":1,"method":"eth_estimateGas","params":[{"from":"0x1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a","to":"0x2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b","data":"0x04"}]}
<< {"jsonrpc":"2.0","id":1,"error":{"code":3,"message":"execution reverted: rate limit exceeded","data":"0x08c379a00000000000000000000000000000000000000000000000000000000000000020000000000000000000000000000000000000000000000000000000000000001372617465206c696d697420657863656564656400000000000000000000000000"}}

// a halt, which is not a revert
>> {"jsonrpc":"2.0","id":1,"method":"eth_estimateGas","params":[{"from":"0x1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a","to":"0x2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b","data":"0x05"}]}
<< {"jsonrpc":"2.0","id":1,"error":{"code":-32000,"message":"invalid opcode: INVALID"}}

// a false code 3
>> {"jsonrpc":"2.0","id":1,"method":"eth_estimateGas","params":[{"from":"0x1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a","to":"0x2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b","data":"0x06"}]}
<- {"error":{"code":3,"message":"nonce too low. allowed nonce range: 5 - 55, actual: 2","data":"0x"}}
<< {"jsonrpc":"2.0","id":1,"error":{"code":-32000,"message":"nonce too low. allowed nonce range: 5 - 55, actual: 2"}}

// a block that no node has
>> {"jsonrpc":"2.0","id":1,"method":"eth_estimateGas","params":[{"from":"0x1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a","to":"0x2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b","data":"0xa9059cbb"},"0xffffffff"]}
<- {"error":{"code":-32000,"message":"header not found"}}
<< {"jsonrpc":"2.0","id":1,"error":{"code":-32000,"message":"header not found"}}

// an invalid call object
>> {"jsonrpc":"2.0","id":1,"method":"eth_estimateGas","params":["0x"]}
<< {"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"invalid params: transaction: expected transaction call object"}}

// a revert with a custom error that the node decoded
>> {"jsonrpc":"2.0","id":1,"method":"eth_estimateGas","params":[{"to":"0x2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b","data":"0x07"},"latest"]}
<- {"error":{"code":3,"message":"execution reverted: Unauthorized(7)","data":"0xfe47b63c0000000000000000000000000000000000000000000000000000000000000007"}}
<< {"jsonrpc":"2.0","id":1,"error":{"code":3,"message":"execution reverted: Unauthorized(7)","data":"0xfe47b63c0000000000000000000000000000000000000000000000000000000000000007"}}

// a revert with a custom error that the node did not decode
>> {"jsonrpc":"2.0","id":1,"method":"eth_estimateGas","params":[{"to":"0x2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b","data":"0x08"},"latest"]}
<- {"error":{"code":3,"message":"execution reverted: custom error 0xfe47b63c: 07","data":"0xfe47b63c0000000000000000000000000000000000000000000000000000000000000007"}}
<< {"jsonrpc":"2.0","id":1,"error":{"code":3,"message":"execution reverted","data":"0xfe47b63c0000000000000000000000000000000000000000000000000000000000000007"}}
