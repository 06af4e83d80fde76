import { sendInTurn } from '../processes/requests.ts';
import { CHUNKED_ACCOUNT, type Attack } from './attack.ts';

export const tinyResponseChunks: Attack = {
  name: 'an upstream response in chunks of one byte',
  sends: '`eth_call` in turn, whose response of 5 MB has each byte in a chunk of its own',
  bound: 'small chunks are copied together; with 64 kB of framing beyond the body, the connection ends',
  seconds: 10,
  key: {},
  atLeast: { connections: 1, bytes: 100 },
  start(target, traffic) {
    let data = 0;
    const body = (): string =>
      `{"jsonrpc":"2.0","id":1,"method":"eth_call","params":[{"to":"${CHUNKED_ACCOUNT}","data":"0x${(++data).toString(16).padStart(8, '0')}"},"latest"]}`;
    void sendInTurn({ target, traffic, body, everyMs: 0 });
  },
};
