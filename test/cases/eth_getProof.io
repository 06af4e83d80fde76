// without a block, so that latest is sent
>> {"jsonrpc":"2.0","id":1,"method":"eth_getProof","params":["0x3c469e9d6c5875d37a43f353d4f88e61fcf812c6",[]]}
-> {"jsonrpc":"2.0","id":1,"method":"eth_getProof","params":["0x3c469e9d6c5875d37a43f353d4f88e61fcf812c6",[],"latest"]}
<< {"jsonrpc":"2.0","id":1,"result":{"address":"0x3c469e9d6c5875d37a43f353d4f88e61fcf812c6","accountProof":["0xf8518080"],"balance":"0x0","codeHash":"0x943a08869eeb9b2606a159d4465c7194f2979103fe643686d36527da30613b08","nonce":"0x1","storageHash":"0x34ca23e705041e5bb8820b5e10678471c141dd6def74af1677f4cdc75735792d","storageProof":[]}}
