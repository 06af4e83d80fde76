import { once } from 'node:events';
import { connect, type Socket } from 'node:net';

const TEXT_FRAME = 0x81;
const MASKED = 0x80;
const [TWO_BYTES, EIGHT_BYTES] = [126, 127];

/**
 * The client's side of a WebSocket, as far as a load generator needs it: whole text frames, one way and the other. `ws`
 * would need more CPU than what is measured. All frames are masked with zeros, which leaves them as they are.
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
  if (length > 0xffff) throw new Error('too long for a message of the bench');
  frame[1] = MASKED | (short ? length : TWO_BYTES);
  if (!short) frame.writeUInt16BE(length, 2);
  frame.write(text, head, 'latin1');
  socket.write(frame);
}

/** Where the first frame's payload begins and ends, once all of it is there. */
function frameIn(bytes: Buffer): { start: number; end: number } | undefined {
  if (bytes.length < 2) return undefined;
  const short = bytes[1] as number;
  const start = short < TWO_BYTES ? 2 : short === EIGHT_BYTES ? 10 : 4;
  if (bytes.length < start) return undefined;
  const length = start === 2 ? short : start === 4 ? bytes.readUInt16BE(2) : Number(bytes.readBigUInt64BE(2));
  return bytes.length < start + length ? undefined : { start, end: start + length };
}
