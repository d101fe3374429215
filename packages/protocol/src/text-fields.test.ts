import assert from 'node:assert/strict';
import { test } from 'node:test';
import { NewZone } from './devices.ts';
import { LoginRequest, SetupRequest } from './rest.ts';
import { longestText, shortestText, textFault } from './text-fields.ts';

test('a field has the limits of the body that it becomes', () => {
  assert.equal(longestText(SetupRequest, 'name'), 100);
  assert.equal(shortestText(SetupRequest, 'password'), 10);
  assert.equal(longestText(SetupRequest, 'timeZones'), undefined);
  assert.equal(shortestText(SetupRequest, 'toString'), 0);
});

test('a text that the station would refuse has a fault', () => {
  const rows = [
    [LoginRequest, 'email', '', 'required'],
    [LoginRequest, 'email', 'olena', 'email'],
    [LoginRequest, 'email', 'olena@home', null],
    [LoginRequest, 'password', 'x', null],
    [SetupRequest, 'password', 'nine char', 'short'],
    [SetupRequest, 'password', 'ten chars!', null],
    [SetupRequest, 'password', 'x'.repeat(257), 'refused'],
    [NewZone, 'name', ' ', 'required'],
    [NewZone, 'name', 'Hall', null],
  ] as const;
  for (const [body, name, text, fault] of rows) assert.equal(textFault(body, name, text), fault, `${name}: ${text}`);
});
