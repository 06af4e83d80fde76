import { holdOpen, type RawConnection } from '../processes/raw-connection.ts';
import type { Attack } from './attack.ts';

const CONNECTIONS = 16;
/** Wrong tokens of one address that are logged in the time of an attack. Without a bound, there are 10,000. */
const MAX_LOGGED = 100;
let guesses = 0;
let logged = 0;

export const adminTokens: Attack = {
  name: 'wrong admin tokens',
  sends: '16 connections to `OPS_PORT`, each with another wrong token as soon as one is rejected',
  bound: 'wrong tokens are limited per address, and counted',
  seconds: 6,
  key: undefined,
  atLeast: { connections: CONNECTIONS, bytes: 2_000 },
  start(target, traffic) {
    const guess = ({ write }: RawConnection): void => {
      const token = `wrong-token-${String(++guesses).padStart(12, '0')}`;
      write(`GET /admin/keys HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${token}\r\n\r\n`);
    };
    for (let count = 0; count < CONNECTIONS; count++) {
      let current: RawConnection | undefined;
      holdOpen(target, traffic, {
        port: target.opsPort,
        reads: 'all',
        onOpen(connection) {
          current = connection;
          guess(connection);
        },
        onText(text) {
          const [, status] = /^HTTP\/1\.1 (\d{3}) /.exec(text) ?? [];
          if (status === undefined) return;
          if (status === '401' && ++logged > MAX_LOGGED)
            traffic.violation(`more than ${MAX_LOGGED} entries of the log`);
          if (status !== '401' && status !== '429') traffic.violation(`a wrong token: status ${status}`);
          if (current !== undefined) guess(current);
        },
      });
    }
  },
};
