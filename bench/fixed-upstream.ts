import { createServer } from 'node:http';
import { largeBlock } from './large-block.ts';

/**
 * Answers every call at once with the same storage word, or a block where that is asked for, under the call's id. Port:
 * the first argument.
 */
const word = '"0x000000000000000000000000000000000000000000000000000000000000002a"';
const block = JSON.stringify(largeBlock);
const head = '{"number":"0x10","gasLimit":"0x1c9c380"}';

const server = createServer((request, response) => {
  let body = '';
  request.setEncoding('latin1').on('data', (chunk: string) => (body += chunk));
  request.on('end', () => {
    const id = /"id":(\d+)/.exec(body)?.[1] ?? 'null';
    const result = body.includes('eth_chainId')
      ? '"0x1"'
      : body.includes('eth_getBlockByNumber')
        ? head
        : body.includes('eth_getBlockByHash')
          ? block
          : word;
    const text = `{"jsonrpc":"2.0","id":${id},"result":${result}}`;
    response.writeHead(200, ['Content-Type', 'application/json', 'Content-Length', String(text.length)]);
    response.end(text);
  });
});
server.keepAliveTimeout = 60_000;
server.listen(Number(process.argv[2]), '127.0.0.1');
