// without a parameter
>> {"jsonrpc":"2.0","id":1,"method":"eth_maxPriorityFeePerGas","params":[]}
<< {"jsonrpc":"2.0","id":1,"result":"0x3b9aca07"}

// on Celo, in a fee currency, as viem sends it
>> {"jsonrpc":"2.0","id":1,"method":"eth_maxPriorityFeePerGas","params":["0x765de816845861e75a25fca122bb6898b8b1282a"]}
<< {"jsonrpc":"2.0","id":1,"result":"0x2540be400"}

// an address of 19 bytes
>> {"jsonrpc":"2.0","id":1,"method":"eth_maxPriorityFeePerGas","params":["0x765de816845861e75a25fca122bb6898b8b128"]}
<< {"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"invalid params: feeCurrency: expected 20-byte address of a fee currency"}}
