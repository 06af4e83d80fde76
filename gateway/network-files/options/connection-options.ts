import { checkHeader, checkPem, checkProxy, checkUrl } from './check-upstream-text.ts';
import type { UpstreamOption } from './option.ts';

const PEM_TITLE = 'full path of a PEM file, or ${file:/path}';
const pem = { title: PEM_TITLE, type: 'string', pattern: '^(/|\\$\\{|-----BEGIN )' } as const;

type Text = Omit<UpstreamOption, 'replaces'>;

export const url = {
  title: 'http or https URL',
  description:
    'HTTP or HTTPS URL. It may contain ${NAME} and ${NAME:-default} from the environment, and ${file:/path}.',
  type: 'string',
  pattern: '^(https?://|\\$\\{)[^\\s]+$',
  hasVariables: true,
  check: checkUrl('http'),
} as const satisfies Text;

export const websocketUrl = {
  title: 'ws or wss URL',
  description:
    'The same node over WebSocket, for new heads. Without url, all calls use this connection too. It may contain variables.',
  type: 'string',
  pattern: '^(wss?://|\\$\\{)[^\\s]+$',
  hasVariables: true,
  check: checkUrl('ws'),
} as const satisfies Text;

export const headers = {
  title: 'map of header names to values',
  description:
    'Headers of every request and WebSocket handshake. Values may contain ${NAME} from the environment, and ${file:/path}.',
  type: 'object',
  propertyNames: { title: 'header name', pattern: "^[A-Za-z0-9!#$%&'*+.^_`|~-]+$" },
  additionalProperties: { title: 'header value of printable characters', type: 'string', pattern: '^[ -~]*$' },
  hasVariables: true,
  default: {},
  check: checkHeader,
} as const satisfies Text;

/** For nodes behind a private authority, or that require a client certificate. */
export const tls = {
  title: 'map with ca, cert and key',
  description:
    'For https and wss: authorities and client certificate, as PEM files. Renewed files are used within 5 s.',
  type: 'object',
  minProperties: 1,
  properties: {
    ca: { ...pem, description: 'The only authorities that are trusted. Default: the public ones.' },
    cert: { ...pem, description: 'Client certificate, with intermediate certificates after it.' },
    key: { ...pem, description: 'Private key of the client certificate, without a passphrase.' },
  },
  dependentRequired: { cert: ['key'], key: ['cert'] },
  hasVariables: true,
  isFile: true,
  check: checkPem,
} as const satisfies Text;

export const proxyUrl = {
  title: 'http URL of a proxy',
  description:
    'HTTP proxy through which all connections are opened, with CONNECT: `http://user:${PROXY_PASSWORD}@10.0.0.9:3128`. The URL is secret.',
  type: 'string',
  pattern: '^(http://|\\$\\{)[^\\s]+$',
  hasVariables: true,
  check: checkProxy,
} as const satisfies Text;

/** A larger response is an upstream failure. */
export const maxResponseBytes = {
  title: 'whole number from 1',
  description: 'Maximum bytes of a response of this upstream; default: UPSTREAM_RESPONSE_MAX_BYTES.',
  type: 'integer',
  minimum: 1,
} as const satisfies Text;
