// spec: signature in matter-labs/zksync-era@254c96ec core/lib/web3_decl/src/namespaces/zks.rs; the third parameter in zksync-ethers 6.21.1 src/provider.ts; the values are made up
// a proof of one node, without the optional parameter
>> {"jsonrpc":"2.0","id":1,"method":"zks_getL2ToL1LogProof","params":["0x1b5b9ccb3e8d006a5230de9bda23ff91edc794d4f56410560830b418528e446c"]}
<< {"jsonrpc":"2.0","id":1,"result":{"id":0,"proof":["0x496aca80e4d8f29fb8e8cd816c3afb48d3f103970b3a2ee1600c08ca67326dee"],"root":"0x1b5b9ccb3e8d006a5230de9bda23ff91edc794d4f56410560830b418528e446c"}}

// a proof of one node
>> {"jsonrpc":"2.0","id":1,"method":"zks_getL2ToL1LogProof","params":["0x1b5b9ccb3e8d006a5230de9bda23ff91edc794d4f56410560830b418528e446c",0]}
<< {"jsonrpc":"2.0","id":1,"result":{"id":0,"proof":["0x496aca80e4d8f29fb8e8cd816c3afb48d3f103970b3a2ee1600c08ca67326dee"],"root":"0x1b5b9ccb3e8d006a5230de9bda23ff91edc794d4f56410560830b418528e446c"}}

// as zksync-ethers 6.21 sends it without the optional parameters
>> {"jsonrpc":"2.0","id":1,"method":"zks_getL2ToL1LogProof","params":["0x1b5b9ccb3e8d006a5230de9bda23ff91edc794d4f56410560830b418528e446c",null,null]}
<< {"jsonrpc":"2.0","id":1,"result":{"id":0,"proof":["0x496aca80e4d8f29fb8e8cd816c3afb48d3f103970b3a2ee1600c08ca67326dee"],"root":"0x1b5b9ccb3e8d006a5230de9bda23ff91edc794d4f56410560830b418528e446c"}}

// a proof for interoperability, as zksync-ethers 6.21 sends it
>> {"jsonrpc":"2.0","id":1,"method":"zks_getL2ToL1LogProof","params":["0x1b5b9ccb3e8d006a5230de9bda23ff91edc794d4f56410560830b418528e446c",0,"proof_based_gw"]}
<< {"jsonrpc":"2.0","id":1,"result":{"id":0,"proof":["0x496aca80e4d8f29fb8e8cd816c3afb48d3f103970b3a2ee1600c08ca67326dee"],"root":"0x1b5b9ccb3e8d006a5230de9bda23ff91edc794d4f56410560830b418528e446c"}}

// a target that is no text
>> {"jsonrpc":"2.0","id":1,"method":"zks_getL2ToL1LogProof","params":["0x1b5b9ccb3e8d006a5230de9bda23ff91edc794d4f56410560830b418528e446c",0,1]}
<< {"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"invalid params: target: expected text"}}
