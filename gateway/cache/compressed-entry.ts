import { promisify } from 'node:util';
import { constants, gunzip, gzip } from 'node:zlib';

/** Below it, packing costs more than the bytes. */
const COMPRESS_OVER_BYTES = 1_000;

/** What a hand, or another program, put there must not fill the memory. */
const MAX_DECOMPRESSED_BYTES = 16_000_000;

const gzipAsync = promisify(gzip);
const gunzipAsync = promisify(gunzip);
const options = { level: constants.Z_BEST_SPEED };

/** The first byte of gzip, which no JSON begins with. */
const GZIP_FIRST_BYTE = 0x1f;

/** @param json gzipped where it is large: `redis-cli get … | gunzip` shows it */
export function compress(json: string | Buffer): Promise<Buffer> | string | Buffer {
  return json.length > COMPRESS_OVER_BYTES ? gzipAsync(json, options) : json;
}

/** @returns text where it is small @throws where it is nothing that `pack` made */
export async function decompress(bytes: Buffer): Promise<string | Buffer> {
  if (bytes[0] === GZIP_FIRST_BYTE) return gunzipAsync(bytes, { maxOutputLength: MAX_DECOMPRESSED_BYTES });
  if (bytes.length > COMPRESS_OVER_BYTES) throw new RangeError('too long for what is not packed');
  const text = bytes.toString();
  JSON.parse(text);
  return text;
}
