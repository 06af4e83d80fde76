import { randomBytes } from 'node:crypto';
import { connect, type Socket } from 'node:net';

/** A WebSocket client that can write any frame. */
export class RawWebSocket {
  readonly socket: Socket;
  /** Text messages in the order of arrival. */
  readonly onText: (text: string) => void;
  pongs: string[] = [];
  /** Code of the close frame, or 1006. Undefined: it is open. */
  closeCode: number | undefined;
  /** The gateway has accepted the upgrade. */
  isOpen = false;
  #bytes = Buffer.alloc(0);
  #fragments: Buffer[] = [];

  constructor(port: number, path: string, onText: (text: string) => void) {
    this.onText = onText;
    this.socket = connect({ host: '127.0.0.1', port, noDelay: true });
    this.socket.on('error', () => undefined);
    this.socket.on('close', () => (this.closeCode ??= 1006));
    this.socket.on('data', (bytes: Buffer) => {
      this.#bytes = Buffer.concat([this.#bytes, bytes]);
      this.#read();
    });
    this.socket.write(
      `GET ${path} HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n` +
        `Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: ${randomBytes(16).toString('base64')}\r\n\r\n`,
    );
  }

  write(bytes: Buffer): void {
    if (this.socket.writable) this.socket.write(bytes);
  }

  #read(): void {
    if (!this.isOpen) {
      const end = this.#bytes.indexOf('\r\n\r\n');
      if (end === -1) return;
      this.isOpen = this.#bytes.toString('latin1', 0, end).startsWith('HTTP/1.1 101');
      if (!this.isOpen) {
        this.socket.destroy();
        return;
      }
      this.#bytes = this.#bytes.subarray(end + 4);
    }
    for (;;) {
      const frame = readFrame(this.#bytes);
      if (frame === undefined) return;
      this.#bytes = this.#bytes.subarray(frame.length);
      const { opcode, payload, fin } = frame;
      if (opcode === 8) this.closeCode ??= payload.length < 2 ? 1005 : payload.readUInt16BE();
      else if (opcode === 9) this.write(makeFrame({ opcode: 10, payload }));
      else if (opcode === 10) this.pongs.push(payload.toString('latin1'));
      else {
        this.#fragments.push(payload);
        if (!fin) continue;
        const text = Buffer.concat(this.#fragments).toString();
        this.#fragments = [];
        this.onText(text);
      }
    }
  }
}

function readFrame(bytes: Buffer): { opcode: number; fin: boolean; payload: Buffer; length: number } | undefined {
  if (bytes.length < 2) return undefined;
  const [first, second] = bytes as unknown as [number, number];
  const start = second < 126 ? 2 : second === 126 ? 4 : 10;
  if (bytes.length < start) return undefined;
  const size = second < 126 ? second : second === 126 ? bytes.readUInt16BE(2) : Number(bytes.readBigUInt64BE(2));
  if (bytes.length < start + size) return undefined;
  const payload = bytes.subarray(start, start + size);
  return { opcode: first & 15, fin: first >= 128, payload, length: start + size };
}

export interface FrameOptions {
  readonly opcode: number;
  readonly payload: Buffer;
  readonly fin?: boolean;
  readonly isMasked?: boolean;
  readonly reservedBits?: number;
}

export function makeFrame({ opcode, payload, fin = true, isMasked = true, reservedBits = 0 }: FrameOptions): Buffer {
  const first = (fin ? 0x80 : 0) | (reservedBits << 4) | opcode;
  const maskBit = isMasked ? 0x80 : 0;
  const { length } = payload;
  const head = Buffer.alloc(length < 126 ? 2 : length < 65_536 ? 4 : 10);
  head[0] = first;
  head[1] = maskBit | (length < 126 ? length : length < 65_536 ? 126 : 127);
  if (head.length === 4) head.writeUInt16BE(length, 2);
  if (head.length === 10) head.writeBigUInt64BE(BigInt(length), 2);
  if (!isMasked) return Buffer.concat([head, payload]);
  const mask = Buffer.from([0x12, 0x34, 0x56, 0x78]);
  const masked = Buffer.from(payload);
  for (let at = 0; at < length; at++) masked[at] = (masked[at] as number) ^ (mask[at % 4] as number);
  return Buffer.concat([head, mask, masked]);
}
