// version 24, without a version
>> {"jsonrpc":"2.0","id":1,"method":"zks_getProtocolVersion","params":[]}
<< {"jsonrpc":"2.0","id":1,"result":{"version_id":24,"timestamp":1718093401}}

// version 24
>> {"jsonrpc":"2.0","id":1,"method":"zks_getProtocolVersion","params":[24]}
<< {"jsonrpc":"2.0","id":1,"result":{"version_id":24,"timestamp":1718093401}}
