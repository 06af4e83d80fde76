// the return value of a contract
>> {"jsonrpc":"2.0","id":1,"method":"eth_call","params":[{"to":"0x2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b","data":"0x06fdde03"},"latest"]}
<< {"jsonrpc":"2.0","id":1,"result":"0x000000000000000000000000000000000000000000000000000000000000002a"}

// an empty result without a contract; the block is omitted, so that latest is sent
>> {"jsonrpc":"2.0","id":1,"method":"eth_call","params":[{"to":"0x2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b"}]}
-> {"jsonrpc":"2.0","id":1,"method":"eth_call","params":[{"to":"0x2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b"},"latest"]}
<< {"jsonrpc":"2.0","id":1,"result":"0x"}

// a call without a receiver, with overrides of state and block
>> {"jsonrpc":"2.0","id":1,"method":"eth_call","params":[{"data":"0x6001"},"pending",{"0x2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b":{"balance":"0x1"}},{"time":"0x5"}]}
<< {"jsonrpc":"2.0","id":1,"result":"0x"}

// gas over the cap, ten times the block gas limit, is lowered
>> {"jsonrpc":"2.0","id":1,"method":"eth_call","params":[{"to":"0x2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b","data":"0x06fdde03","gas":"0xffffffffffffffff"},"safe"]}
-> {"method":"eth_call","params":[{"to":"0x2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b","data":"0x06fdde03","gas":"0x11e1a300"},"safe"]}
<- {"result":"0x01"}
<< {"jsonrpc":"2.0","id":1,"result":"0x01"}

// a revert with a reason, as an older node returns it
>> {"jsonrpc":"2.0","id":1,"method":"eth_call","params":[{"to":"0x2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b","data":"0x01"},"latest"]}
<- {"error":{"code":-32015,"message":"execution reverted","data":"0x08c379a0000000000000000000000000000000000000000000000000000000000000002000000000000000000000000000000000000000000000000000000000000000076e6f206d6f726500000000000000000000000000000000000000000000000000"}}
<< {"jsonrpc":"2.0","id":1,"error":{"code":3,"message":"execution reverted: no more","data":"0x08c379a0000000000000000000000000000000000000000000000000000000000000002000000000000000000000000000000000000000000000000000000000000000076e6f206d6f726500000000000000000000000000000000000000000000000000"}}

// a halt, which is not a revert
>> {"jsonrpc":"2.0","id":1,"method":"eth_call","params":[{"to":"0x2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b","data":"0x02"},"latest"]}
<< {"jsonrpc":"2.0","id":1,"error":{"code":-32000,"message":"out of gas"}}

// null, as Besu for a block that it lacks
>> {"jsonrpc":"2.0","id":1,"method":"eth_call","params":[{"to":"0x2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b","data":"0x06fdde03"},"0xffffffff"]}
<- {"result":null}
<< {"jsonrpc":"2.0","id":1,"error":{"code":-32000,"message":"header not found"}}

// half a byte of data
>> {"jsonrpc":"2.0","id":1,"method":"eth_call","params":[{"to":"0x2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b","data":"0x1"},"latest"]}
<< {"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"invalid params: transaction.data: expected hexadecimal bytes or an empty text"}}

// null in place of the block, before a state override
>> {"jsonrpc":"2.0","id":1,"method":"eth_call","params":[{"to":"0x2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b"},null,{"0x2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b":{"balance":"0x1"}}]}
-> {"jsonrpc":"2.0","id":1,"method":"eth_call","params":[{"to":"0x2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b"},"latest",{"0x2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b":{"balance":"0x1"}}]}
<< {"jsonrpc":"2.0","id":1,"result":"0x01"}

// a revert with a custom error that the node decoded
>> {"jsonrpc":"2.0","id":1,"method":"eth_call","params":[{"to":"0x2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b","data":"0x07"},"latest"]}
<- {"error":{"code":3,"message":"execution reverted: Unauthorized(7)","data":"0xfe47b63c0000000000000000000000000000000000000000000000000000000000000007"}}
<< {"jsonrpc":"2.0","id":1,"error":{"code":3,"message":"execution reverted: Unauthorized(7)","data":"0xfe47b63c0000000000000000000000000000000000000000000000000000000000000007"}}

// a revert with a custom error that the node did not decode
>> {"jsonrpc":"2.0","id":1,"method":"eth_call","params":[{"to":"0x2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b","data":"0x08"},"latest"]}
<- {"error":{"code":3,"message":"execution reverted: custom error 0xfe47b63c: 07","data":"0xfe47b63c0000000000000000000000000000000000000000000000000000000000000007"}}
<< {"jsonrpc":"2.0","id":1,"error":{"code":3,"message":"execution reverted","data":"0xfe47b63c0000000000000000000000000000000000000000000000000000000000000007"}}

// data that is an empty text
>> {"jsonrpc":"2.0","id":1,"method":"eth_call","params":[{"to":"0x2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b","data":""},"finalized"]}
<< {"jsonrpc":"2.0","id":1,"result":"0x"}

// a tag as block number of an object
>> {"jsonrpc":"2.0","id":1,"method":"eth_call","params":[{"to":"0x2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b","data":"0x09"},{"blockNumber":"safe"}]}
-> {"jsonrpc":"2.0","id":1,"method":"eth_call","params":[{"to":"0x2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b","data":"0x09"},"safe"]}
<< {"jsonrpc":"2.0","id":1,"result":"0x09"}
