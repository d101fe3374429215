import { userOf } from '../http/access.ts';
import { serve } from '../http/serve.ts';
import type { HttpServer } from '../http/server.ts';
import type { NotificationService } from './notification-service.ts';

/** /api/notifications: what each user wants to be told, and the channels of the station (ADR 55). */
export async function registerNotificationRoutes(
  app: HttpServer,
  { service }: { service: NotificationService },
): Promise<void> {
  serve(app, 'GET /api/notifications', (request) => service.view(userOf(request)));
  serve(app, 'PUT /api/notifications/preferences', async (request) => {
    await service.setPreferences(userOf(request), request.body);
    return service.view(userOf(request));
  });
  serve(app, 'PUT /api/notifications/push', async (request) => ({
    id: await service.subscribe(userOf(request), request.body),
  }));
  serve(app, 'DELETE /api/notifications/push/:id', async (request, reply) => {
    await service.unsubscribe(userOf(request), request.params.id);
    return reply.code(204).send(null);
  });
  serve(app, 'POST /api/notifications/test', (request) => service.testOwn(userOf(request), request.body.channel));
  serve(app, 'GET /api/notifications/station', () => service.station());
  serve(app, 'PUT /api/notifications/station', (request) => service.changeStation(request.body));
  serve(app, 'POST /api/notifications/station/test', (request) =>
    service.testStation(userOf(request), request.body.channel),
  );
}
