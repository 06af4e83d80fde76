// spec: signature in matter-labs/zksync-era@254c96ec core/lib/web3_decl/src/namespaces/zks.rs; the values are made up
// version 24, without a version
>> {"jsonrpc":"2.0","id":1,"method":"zks_getProtocolVersion","params":[]}
<< {"jsonrpc":"2.0","id":1,"result":{"version_id":24,"timestamp":1718093401}}

// version 24
>> {"jsonrpc":"2.0","id":1,"method":"zks_getProtocolVersion","params":[24]}
<< {"jsonrpc":"2.0","id":1,"result":{"version_id":24,"timestamp":1718093401}}
