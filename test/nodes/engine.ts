import { createHmac } from 'node:crypto';

/** The secret that the engine API of every geth of these tests accepts. */
export const JWT_SECRET = 'ab'.repeat(32);

/** Posts a request to the engine API, which requires a JSON Web Token with the current time. @returns the response */
export async function postToEngine(url: string, request: string): Promise<string> {
  const encode = (text: string): string => Buffer.from(text).toString('base64url');
  const payload = `${encode('{"alg":"HS256","typ":"JWT"}')}.${encode(`{"iat":${Math.floor(Date.now() / 1000)}}`)}`;
  const signature = createHmac('sha256', Buffer.from(JWT_SECRET, 'hex')).update(payload).digest('base64url');
  const headers = { 'content-type': 'application/json', authorization: `Bearer ${payload}.${signature}` };
  const response = await fetch(url, { method: 'POST', headers, body: request });
  return response.text();
}
