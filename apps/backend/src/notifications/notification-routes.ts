import { Type } from 'typebox';
import {
  NotificationPreferences,
  NotificationsView,
  OwnTest,
  PushSubscribed,
  PushSubscriptionPut,
  StationNotifications,
  StationNotificationsPut,
  StationTest,
  TestResult,
} from '@station/protocol/notifications';
import { Id } from '@station/protocol/rest';
import { userOf } from '../http/access.ts';
import type { HttpServer } from '../http/server.ts';
import type { NotificationService } from './notification-service.ts';

const tags = ['notifications'];
const forMembers = { access: { station: 'member' } } as const;
const forAdmins = { access: { station: 'admin' } } as const;
const none = { 204: Type.Null() };

/** /api/notifications: what each user wants to be told, and the channels of the station (ADR 55). */
export async function registerNotificationRoutes(
  app: HttpServer,
  { service }: { service: NotificationService },
): Promise<void> {
  app.get(
    '/api/notifications',
    { config: forMembers, schema: { tags, response: { 200: NotificationsView } } },
    (request) => service.view(userOf(request)),
  );
  app.put(
    '/api/notifications/preferences',
    { config: forMembers, schema: { tags, body: NotificationPreferences, response: { 200: NotificationsView } } },
    async (request) => {
      await service.setPreferences(userOf(request), request.body);
      return service.view(userOf(request));
    },
  );
  app.put(
    '/api/notifications/push',
    { config: forMembers, schema: { tags, body: PushSubscriptionPut, response: { 200: PushSubscribed } } },
    async (request) => ({ id: await service.subscribe(userOf(request), request.body) }),
  );
  app.delete(
    '/api/notifications/push/:id',
    { config: forMembers, schema: { tags, params: Type.Object({ id: Id }), response: none } },
    async (request, reply) => {
      await service.unsubscribe(userOf(request), request.params.id);
      return reply.code(204).send(null);
    },
  );
  app.post(
    '/api/notifications/test',
    { config: forMembers, schema: { tags, body: OwnTest, response: { 200: TestResult } } },
    (request) => service.testOwn(userOf(request), request.body.channel),
  );
  app.get(
    '/api/notifications/station',
    { config: forAdmins, schema: { tags, response: { 200: StationNotifications } } },
    () => service.station(),
  );
  app.put(
    '/api/notifications/station',
    { config: forAdmins, schema: { tags, body: StationNotificationsPut, response: { 200: StationNotifications } } },
    (request) => service.changeStation(request.body),
  );
  app.post(
    '/api/notifications/station/test',
    { config: forAdmins, schema: { tags, body: StationTest, response: { 200: TestResult } } },
    (request) => service.testStation(userOf(request), request.body.channel),
  );
}
