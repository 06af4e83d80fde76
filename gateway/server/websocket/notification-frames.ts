/** FIN and the opcode of a text message (RFC 6455 §5.2). A server does not mask. */
const TEXT_MESSAGE = 0x81;
const MAX_7_BIT = 125;
const MAX_16_BIT = 65_535;

const END = '}}';

/**
 * The WebSocket frames of notifications, one after the other. ws would make each of a text, in 5 µs.
 * @param start the JSON text before the result, without characters beyond ASCII
 * @param results JSON texts, which all subscribers of a kind share
 */
export function notificationFrames(start: string, results: readonly Buffer[]): Buffer {
  let bytes = 0;
  for (const result of results) {
    const length = lengthOf(start, result);
    bytes += headerBytes(length) + length;
  }
  const frames = Buffer.allocUnsafe(bytes);
  let at = 0;
  for (const result of results) {
    at = writeHeader(frames, at, lengthOf(start, result));
    at += frames.write(start, at, 'latin1');
    at += result.copy(frames, at);
    at += frames.write(END, at, 'latin1');
  }
  return frames;
}

function lengthOf(start: string, result: Buffer): number {
  return start.length + result.length + END.length;
}

function headerBytes(length: number): number {
  return length <= MAX_7_BIT ? 2 : length <= MAX_16_BIT ? 4 : 10;
}

/** @returns where the message begins */
function writeHeader(frames: Buffer, at: number, length: number): number {
  frames[at] = TEXT_MESSAGE;
  if (length <= MAX_7_BIT) frames[at + 1] = length;
  else if (length <= MAX_16_BIT) {
    frames[at + 1] = 126;
    frames.writeUInt16BE(length, at + 2);
  } else {
    frames[at + 1] = 127;
    frames.writeBigUInt64BE(BigInt(length), at + 2);
  }
  return at + headerBytes(length);
}
