import { holdOpen, writeRepeatedly, type RawConnection } from '../processes/raw-connection.ts';
import { scenarioPause } from '../../support/scenario-pause.ts';
import type { Attack } from './attack.ts';

const LARGE = 20;
/** Two of each: what is rejected is sent again, so that less than the smallest remains of any budget. */
const SMALL_BYTES = [16_384, 8_192, 4_096, 2_048, 1_024, 512, 256, 128, 64].flatMap((bytes) => [bytes, bytes]);
const BODY_BYTES = 5_000_000;
const LARGE_BYTES = 4_999_000;

export const slowBodies: Attack = {
  name: 'bodies that never end',
  sends:
    '38 connections of a key with `rate: 1` with a part of a body of 5,000,000 bytes: 20 with 4,999,000 bytes, ' +
    '18 with 16 kB to 64 bytes; sent again if rejected',
  bound: 'received bytes count against the key; `REQUEST_TIMEOUT_MS`',
  seconds: 15,
  key: { rate: 1 },
  atLeast: { connections: LARGE + SMALL_BYTES.length, bytes: 1_000_000 },
  start(target, traffic) {
    const head = `POST ${target.path} HTTP/1.1\r\nHost: a\r\nContent-Length: ${BODY_BYTES}\r\n\r\n`;
    const open = (send: (connection: RawConnection) => void): void => {
      let current: RawConnection | undefined;
      holdOpen(target, traffic, {
        reads: 'all',
        onOpen(connection) {
          current = connection;
          connection.write(head);
          send(connection);
        },
        // A rejected body is sent again on a new connection.
        onText: () => current?.socket.destroy(),
      });
    };
    const large = Buffer.alloc(LARGE_BYTES, ' ');
    let arrived = 0;
    let hasSmall = false;
    // The small bodies use what the large ones leave, so they come when the gateway has read those, or does not read on.
    const openSmall = (): void => {
      if (hasSmall) return;
      hasSmall = true;
      for (const bytes of SMALL_BYTES) open(({ write }) => void write(Buffer.alloc(bytes, ' ')));
    };
    void scenarioPause(3_000).then(openSmall);
    for (let count = 0; count < LARGE; count++) {
      open((connection) => {
        writeRepeatedly(connection, large, 1, () => {
          if (++arrived === LARGE) void scenarioPause(1_000).then(openSmall);
        });
      });
    }
  },
};
