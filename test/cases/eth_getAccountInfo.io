// an account without code
>> {"jsonrpc":"2.0","id":1,"method":"eth_getAccountInfo","params":["0x2bd806c97f0e00af1a1fc3328fa763a9269723c8","latest"]}
<< {"jsonrpc":"2.0","id":1,"result":{"balance":"0x56bc75e2d63100000","nonce":"0x3","code":"0x"}}
