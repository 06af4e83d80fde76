import { expect } from 'vitest';

/** The text of an error response. @param id as JSON text */
export function errorText(code: number, message: string, id = 'null', data?: string): string {
  const tail = data === undefined ? '' : `,"data":"${data}"`;
  return `{"jsonrpc":"2.0","id":${id},"error":{"code":${code},"message":${JSON.stringify(message)}${tail}}}`;
}

export function resultText(id: string, result: unknown): string {
  return `{"jsonrpc":"2.0","id":${id},"result":${JSON.stringify(result)}}`;
}

/** Checks status, exact text and the headers that every response has. */
export async function expectResponse(response: Response, status: number, text: string): Promise<void> {
  await expectText(response, status, text);
  expect(response.headers.get('content-length')).toBe(String(Buffer.byteLength(text)));
}

/** Check as that of `expectResponse`, for a result above 32 kB of a call alone. If it flows, which depends on its chunks, it has no length. */
export async function expectLargeResult(response: Response, text: string): Promise<void> {
  await expectText(response, 200, text);
  expect([null, String(Buffer.byteLength(text))]).toContain(response.headers.get('content-length'));
}

/** Check as that of `expectResponse`, for a result that certainly flows. */
export async function expectFlowed(response: Response, text: string): Promise<void> {
  await expectText(response, 200, text);
  expect(response.headers.get('content-length')).toBeNull();
}

async function expectText(response: Response, status: number, text: string): Promise<void> {
  expect([response.status, await response.text()]).toEqual([status, text]);
  expectUsualHeaders(response);
  expect(response.headers.get('content-type')).toBe('application/json');
}

/** Checks the rejection of a whole body: id null. */
export function expectRejection(response: Response, status: number, code: number, message: string): Promise<void> {
  return expectResponse(response, status, errorText(code, message));
}

export async function expectNoBody(response: Response): Promise<void> {
  expect([response.status, await response.text()]).toEqual([204, '']);
  expectUsualHeaders(response);
  expect(response.headers.get('content-type')).toBeNull();
}

function expectUsualHeaders({ status, headers }: Response): void {
  // Two digits: ethers retries `1` at once.
  if (status === 503) expect(headers.get('retry-after')).toMatch(/^\d{2,}$/);
  expect(headers.get('x-request-id')).toMatch(/^[0-9a-f]{6}-[0-9a-z]+$/);
  expect(headers.get('access-control-allow-origin')).toBe('*');
  expect(headers.get('access-control-expose-headers')).toBe(
    'RateLimit-Limit, RateLimit-Remaining, RateLimit-Reset, Retry-After, X-Request-Id',
  );
  expect(headers.get('x-powered-by')).toBeNull();
}
