import { promisify } from 'node:util';
import { constants, gunzip, gzip } from 'node:zlib';

/**
 * Smaller entries are not compressed: gzip costs more CPU than the call. Logs of 1.7, 4.6 and 9.2 kB become 0.8, 1.7 and 3.2 kB.
 * That takes 220 to 350 µs of CPU, 47 to 98 of them in the main thread; decompressing takes 49 to 143, with 18 to 58 there. So
 * entries below 10 kB take up to three times the space (Node 20, 2026-11-30).
 */
const COMPRESS_OVER_BYTES = 10_000;

/** Protects the memory from entries that another program wrote. */
const MAX_DECOMPRESSED_BYTES = 16_000_000;

const gzipAsync = promisify(gzip);
const gunzipAsync = promisify(gunzip);
const options = { level: constants.Z_BEST_SPEED };

/** The first byte of gzip data. JSON never starts with it. */
const GZIP_FIRST_BYTE = 0x1f;

/** Compresses large entries with gzip: `redis-cli get … | gunzip` shows them. */
export function compress(json: string | Buffer): Promise<Buffer> | string | Buffer {
  return json.length > COMPRESS_OVER_BYTES ? gzipAsync(json, options) : json;
}

/** @returns a string for small entries @throws Error for bytes that `compress` cannot have returned, see `isContentError` */
export async function decompress(bytes: Buffer): Promise<string | Buffer> {
  if (bytes[0] === GZIP_FIRST_BYTE) return gunzipAsync(bytes, { maxOutputLength: MAX_DECOMPRESSED_BYTES });
  if (bytes.length > COMPRESS_OVER_BYTES) throw new RangeError('the entry is too long to be uncompressed');
  return bytes.toString();
}

/** Whether `decompress` threw it. */
export function isContentError(error: unknown): boolean {
  const { code = '' } = error as { code?: unknown };
  return error instanceof SyntaxError || error instanceof RangeError || String(code).startsWith('Z_');
}
