// Generated from gateway/auth/permissions/permission-fields.ts by `npm run generate`. Do not edit.
import { aboveZero, listOf, whole } from './option.ts';

const texts = { ...listOf('list of texts', { title: 'text', type: 'string', minLength: 1 }), uniqueItems: true } as const;

export const publicFields = {
  methods: { ...texts, description: "Methods that the key may call: names, or whole namespaces such as `eth`." },
  origins: { ...texts, description: "Allowed Origin headers: `app.example.org`, `https://*.example.org`, `http://localhost:3000`." },
  userAgents: { ...texts, description: "Allowed User-Agent headers: each entry is a substring." },
  ips: { ...texts, description: "Allowed client addresses: `192.0.2.7`, `10.0.0.0/8`, `2001:db8::/32`." },
  contracts: { ...texts, description: "Contracts and accounts that calls may name, in methods that name one." },
  rate: { ...aboveZero, description: "Request units per second." },
  burst: { ...whole(1), description: "Request units that may be used at once; default: those of one second." },
  daily: { ...whole(1), description: "Request units per day, from 00:00 UTC." },
  sockets: { ...whole(1), description: "Maximum open WebSockets, per gateway; default: 1000." },
  subscriptions: { ...whole(1), description: "Maximum open subscriptions, per gateway; default: 10000." },
  concurrency: { ...whole(1), description: "Maximum requests in flight of all gateways; default: 256 of each one; others wait for up to 1 s." },
} as const;

export const totalFields = {
  rate: { ...aboveZero, description: "Request units per second." },
  burst: { ...whole(1), description: "Request units that may be used at once; default: those of one second." },
  daily: { ...whole(1), description: "Request units per day, from 00:00 UTC." },
  monthly: { ...whole(1), description: "Request units per month, from the 1st, 00:00 UTC." },
  sockets: { ...whole(1), description: "Maximum open WebSockets, per gateway; default: 1000." },
  subscriptions: { ...whole(1), description: "Maximum open subscriptions, per gateway; default: 10000." },
  concurrency: { ...whole(1), description: "Maximum requests in flight of all gateways; default: 256 of each one; others wait for up to 1 s." },
} as const;
