"""The list of modules that define models; importing it registers them all."""

from albert_tf.models import albert  # noqa: F401
from albert_tf.models import classification  # noqa: F401
from albert_tf.models import multiple_choice  # noqa: F401
from albert_tf.models import pretraining  # noqa: F401
from albert_tf.models import question_answering  # noqa: F401
from albert_tf.models import replaced_tokens  # noqa: F401
from albert_tf.models import text_embedding  # noqa: F401
from albert_tf.models.xlnet import encoder  # noqa: F401
from albert_tf.models.xlnet import fine_tuned  # noqa: F401
from albert_tf.models.xlnet import language_model  # noqa: F401
from albert_tf.models.xlnet import question_answering as questions  # noqa: F401
