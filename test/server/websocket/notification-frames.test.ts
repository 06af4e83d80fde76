import { expect, it } from 'vitest';
import { notificationFrames } from '../../../gateway/server/websocket/notification-frames.ts';

interface Frame {
  readonly opcode: number;
  readonly text: string;
}

/** RFC 6455 §5.2, for frames that are not masked. */
function framesIn(bytes: Buffer): Frame[] {
  const frames: Frame[] = [];
  for (let at = 0; at < bytes.length;) {
    const opcode = bytes.readUInt8(at);
    const short = bytes.readUInt8(at + 1);
    const start = at + (short < 126 ? 2 : short === 126 ? 4 : 10);
    const length =
      short < 126 ? short : short === 126 ? bytes.readUInt16BE(at + 2) : Number(bytes.readBigUInt64BE(at + 2));
    frames.push({ opcode, text: bytes.toString('utf8', start, start + length) });
    at = start + length;
  }
  return frames;
}

it.each([1, 124, 125, 126, 65_534, 65_535, 65_536, 200_000])(
  'a notification of %i bytes is one text frame',
  (bytes) => {
    const result = 'x'.repeat(Math.max(bytes - 3, 0));
    const [frame, ...others] = framesIn(notificationFrames('{', [Buffer.from(result)]));
    expect(others).toEqual([]);
    expect(frame).toEqual({ opcode: 0x81, text: `{${result}}}` });
  },
);

it('several notifications are as many frames, with characters beyond ASCII', () => {
  const results = ['"é"', `"${'€'.repeat(50)}"`, '1'];
  const frames = framesIn(
    notificationFrames(
      '{"result":',
      results.map((result) => Buffer.from(result)),
    ),
  );
  expect(frames.map(({ text }) => text)).toEqual(results.map((result) => `{"result":${result}}}`));
});
