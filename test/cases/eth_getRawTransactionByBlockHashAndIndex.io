// the first transaction of a block
>> {"jsonrpc":"2.0","id":1,"method":"eth_getRawTransactionByBlockHashAndIndex","params":["0x496aca80e4d8f29fb8e8cd816c3afb48d3f103970b3a2ee1600c08ca67326dee","0x0"]}
<< {"jsonrpc":"2.0","id":1,"result":"0xf86c808401a213988261a894aa000000000000000000000000000000000000000a8255448718e5bb3abd109fa073fbe7ff7e74339e7cc61fb3cb3f7630cd3f1d5fef653d7297654b2d22894daea042a188d30f35f19408c73c803bc1e9e17ce129c457e31fd2a368b54507af2f4c"}
