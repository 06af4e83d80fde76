// a transfer of Ether
>> {"jsonrpc":"2.0","id":1,"method":"eth_fillTransaction","params":[{"from":"0x2bd806c97f0e00af1a1fc3328fa763a9269723c8","to":"0x3c469e9d6c5875d37a43f353d4f88e61fcf812c6","value":"0x1"}]}
<< {"jsonrpc":"2.0","id":1,"result":{"raw":"0x02e9821e5b8084773594008477359400825208943c469e9d6c5875d37a43f353d4f88e61fcf812c60180c0808080","tx":{"type":"0x2","chainId":"0x1e5b","nonce":"0x0","gas":"0x5208","to":"0x3c469e9d6c5875d37a43f353d4f88e61fcf812c6","value":"0x1","input":"0x"}}}
