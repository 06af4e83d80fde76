// Generated from gateway/auth/permissions/permission-fields.ts by `npm run generate`. Do not edit.
export const publicFields = {
  "methods": {
    "title": "list of texts",
    "description": "Methods that the key may call: names, or whole namespaces such as `eth`.",
    "type": "array",
    "minItems": 1,
    "uniqueItems": true,
    "items": {
      "title": "text",
      "type": "string",
      "minLength": 1
    }
  },
  "origins": {
    "title": "list of texts",
    "description": "Allowed Origin headers: `app.example.org`, `https://*.example.org`, `http://localhost:3000`.",
    "type": "array",
    "minItems": 1,
    "uniqueItems": true,
    "items": {
      "title": "text",
      "type": "string",
      "minLength": 1
    }
  },
  "userAgents": {
    "title": "list of texts",
    "description": "Allowed User-Agent headers: each entry is a substring.",
    "type": "array",
    "minItems": 1,
    "uniqueItems": true,
    "items": {
      "title": "text",
      "type": "string",
      "minLength": 1
    }
  },
  "ips": {
    "title": "list of texts",
    "description": "Allowed client addresses: `192.0.2.7`, `10.0.0.0/8`, `2001:db8::/32`.",
    "type": "array",
    "minItems": 1,
    "uniqueItems": true,
    "items": {
      "title": "text",
      "type": "string",
      "minLength": 1
    }
  },
  "contracts": {
    "title": "list of texts",
    "description": "Contracts and accounts that calls may name, in methods that name one.",
    "type": "array",
    "minItems": 1,
    "uniqueItems": true,
    "items": {
      "title": "text",
      "type": "string",
      "minLength": 1
    }
  },
  "rate": {
    "title": "number above 0",
    "description": "Request units per second.",
    "type": "number",
    "exclusiveMinimum": 0
  },
  "burst": {
    "title": "whole number from 1",
    "description": "Request units that may be used at once; default: those of one second.",
    "type": "integer",
    "minimum": 1
  },
  "daily": {
    "title": "whole number from 1",
    "description": "Request units per day, from 00:00 UTC.",
    "type": "integer",
    "minimum": 1
  },
  "sockets": {
    "title": "whole number from 1",
    "description": "Maximum open WebSockets, per gateway.",
    "type": "integer",
    "minimum": 1
  },
  "subscriptions": {
    "title": "whole number from 1",
    "description": "Maximum open subscriptions, per gateway.",
    "type": "integer",
    "minimum": 1
  },
  "concurrency": {
    "title": "whole number from 1",
    "description": "Maximum requests in flight, per gateway; default: 256; others wait for up to 1 s.",
    "type": "integer",
    "minimum": 1
  },
  "maxBlockRange": {
    "title": "whole number from 1",
    "description": "Maximum blocks in the range of a log filter.",
    "type": "integer",
    "minimum": 1
  },
  "maxAddresses": {
    "title": "whole number from 1",
    "description": "Maximum addresses of a log filter.",
    "type": "integer",
    "minimum": 1
  },
  "maxStorageKeys": {
    "title": "whole number from 1",
    "description": "Maximum storage keys of `eth_getProof`.",
    "type": "integer",
    "minimum": 1
  },
  "maxSimulatedCalls": {
    "title": "whole number from 1",
    "description": "Maximum calls of `eth_simulateV1`.",
    "type": "integer",
    "minimum": 1
  },
  "maxResponseBytes": {
    "title": "whole number from 1",
    "description": "Maximum bytes of the response to a call.",
    "type": "integer",
    "minimum": 1
  }
} as const;

export const totalFields = {
  "rate": {
    "title": "number above 0",
    "description": "Request units per second.",
    "type": "number",
    "exclusiveMinimum": 0
  },
  "burst": {
    "title": "whole number from 1",
    "description": "Request units that may be used at once; default: those of one second.",
    "type": "integer",
    "minimum": 1
  },
  "daily": {
    "title": "whole number from 1",
    "description": "Request units per day, from 00:00 UTC.",
    "type": "integer",
    "minimum": 1
  },
  "monthly": {
    "title": "whole number from 1",
    "description": "Request units per month, from the 1st, 00:00 UTC.",
    "type": "integer",
    "minimum": 1
  },
  "sockets": {
    "title": "whole number from 1",
    "description": "Maximum open WebSockets, per gateway.",
    "type": "integer",
    "minimum": 1
  },
  "subscriptions": {
    "title": "whole number from 1",
    "description": "Maximum open subscriptions, per gateway.",
    "type": "integer",
    "minimum": 1
  },
  "concurrency": {
    "title": "whole number from 1",
    "description": "Maximum requests in flight, per gateway; default: 256; others wait for up to 1 s.",
    "type": "integer",
    "minimum": 1
  }
} as const;
