"""The models of the package; importing a class registers it."""

# ruff: noqa: F401

from albert_tf.models.albert import AlbertModel
from albert_tf.models.classification import AlbertForSequenceClassification
from albert_tf.models.classification import AlbertForTokenClassification
from albert_tf.models.multiple_choice import AlbertForMultipleChoice
from albert_tf.models.pretraining import AlbertForMaskedLM
from albert_tf.models.pretraining import AlbertForPreTraining
from albert_tf.models.question_answering import AlbertForAnswerableQuestions
from albert_tf.models.question_answering import AlbertForQuestionAnswering
from albert_tf.models.replaced_tokens import AlbertForReplacedTokens
from albert_tf.models.text_embedding import AlbertForTextEmbedding
from albert_tf.models.text_embedding import XLNetForTextEmbedding
from albert_tf.models.xlnet.encoder import XLNetModel
from albert_tf.models.xlnet.fine_tuned import XLNetForMultipleChoice
from albert_tf.models.xlnet.fine_tuned import XLNetForSequenceClassification
from albert_tf.models.xlnet.fine_tuned import XLNetForTokenClassification
from albert_tf.models.xlnet.language_model import XLNetLMHeadModel
from albert_tf.models.xlnet.question_answering import XLNetForQuestionAnswering
from albert_tf.models.xlnet.question_answering import XLNetForQuestionAnsweringSimple
