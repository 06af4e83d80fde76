import { once } from 'node:events';
import { connect, type Socket } from 'node:net';

const TEXT_FRAME = 0x81;
const MASKED = 0x80;
const [TWO_BYTES, EIGHT_BYTES] = [126, 127];

/**
 * The client side of a WebSocket with only what a load generator needs: unfragmented text frames. `ws` would use more CPU
 * than the program under test. All frames are masked with zeros, which does not change them.
 */
export async function openSocket(port: number, path: string, onText: (text: string) => void): Promise<Socket> {
  const socket = connect({ port, host: '127.0.0.1', noDelay: true });
  await once(socket, 'connect');
  socket.write(
    `GET ${path} HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n` +
      `Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: ${Buffer.alloc(16).toString('base64')}\r\n\r\n`,
  );
  const [head] = (await once(socket, 'data')) as [Buffer];
  if (!head.toString('latin1').startsWith('HTTP/1.1 101')) throw new Error(head.toString('latin1'));
  let rest: Buffer = Buffer.alloc(0);
  socket.on('data', (chunk: Buffer) => {
    rest = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
    for (let frame = frameIn(rest); frame !== undefined; frame = frameIn(rest)) {
      if (rest[0] === TEXT_FRAME) onText(rest.toString('latin1', frame.start, frame.end));
      rest = rest.subarray(frame.end);
    }
  });
  return socket;
}

/** @param text ASCII */
export function sendText(socket: Socket, text: string): void {
  const { length } = text;
  const short = length < TWO_BYTES;
  const head = short ? 6 : 8;
  const frame = Buffer.alloc(head + length);
  frame[0] = TEXT_FRAME;
  if (length > 0xffff) throw new Error('the message is longer than 65,535 bytes');
  frame[1] = MASKED | (short ? length : TWO_BYTES);
  if (!short) frame.writeUInt16BE(length, 2);
  frame.write(text, head, 'latin1');
  socket.write(frame);
}

/** The start and end of the first frame's payload. Undefined: the frame is incomplete. */
function frameIn(bytes: Buffer): { start: number; end: number } | undefined {
  if (bytes.length < 2) return undefined;
  const short = bytes[1] as number;
  const start = short < TWO_BYTES ? 2 : short === EIGHT_BYTES ? 10 : 4;
  if (bytes.length < start) return undefined;
  const length = start === 2 ? short : start === 4 ? bytes.readUInt16BE(2) : Number(bytes.readBigUInt64BE(2));
  return bytes.length < start + length ? undefined : { start, end: start + length };
}
