import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Route } from './route.ts';
import { routes } from './routes.ts';

test('each path has exactly the parameters that are declared for it', () => {
  for (const [key, { params }] of Object.entries<Route>(routes)) {
    const named = [...key.matchAll(/:(\w+)/g)].map(([, name]) => name);
    const { properties = {} } = (params ?? {}) as { properties?: object };
    assert.deepEqual(named, Object.keys(properties), key);
  }
});
